package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Column is one column of a table.
type Column struct {
	title string
	// least is how far its texts are shortened, in the middle, when the table is
	// too wide; 0 for not at all.
	least int
	// tail is what share of a shortened text is its end: 1/tail.
	tail int
}

// PodColumn is elastic. What tells pods apart is the beginning of their names:
// the end is the node's.
func PodColumn(least int) Column { return Column{"POD", least, 4} }

// Elastic is a column that may be shortened, down to least. Both ends count
// alike: containers of one pod begin alike.
func Elastic(title string, least int) Column { return Column{title, least, 2} }

// Leading is an elastic column whose texts tell the most at their beginning.
func Leading(title string, least int) Column { return Column{title, least, 1 << 10} }

// Rigid is a column that may not.
func Rigid(title string) Column { return Column{title: title} }

// WriteTable writes rows under their titles, two blanks apart. A limit of 0
// means that nothing is shortened.
func WriteTable(w io.Writer, limit int, columns []Column, rows [][]string) error {
	for i := range rows {
		for j := range rows[i] {
			rows[i][j] = Printable(rows[i][j])
		}
	}
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = len(c.title)
		for _, row := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	if limit > 0 {
		fit(widths, columns, limit)
	}
	titles := make([]string, len(columns))
	for i, c := range columns {
		titles[i] = c.title
	}
	for _, row := range append([][]string{titles}, rows...) {
		var line strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&line, "%-*s  ", widths[i], middle(cell, widths[i], columns[i].tail))
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

// Printable replaces what would move a terminal's cursor or colours: names of
// files and pods are other people's text.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
}

// fit takes from the widest column that can give until the table fits.
func fit(widths []int, columns []Column, limit int) {
	total := 2 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for ; total > limit; total-- {
		widest := -1
		for i, c := range columns {
			if c.least > 0 && widths[i] > c.least && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

// middle shortens text in the middle, with 1/tail of it for its end.
func middle(text string, limit, tail int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	end := (limit - 2) / max(tail, 1)
	return string(runes[:limit-2-end]) + ".." + string(runes[len(runes)-end:])
}

// Start shortens a sentence at its end.
func Start(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return string(runes[:limit-2]) + ".."
}

// Dash stands for a text that is empty.
func Dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
