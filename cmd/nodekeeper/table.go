package main

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// column is one column of a table.
type column struct {
	title string
	// least is how far its texts are shortened, in the middle, when the table is
	// too wide; 0 for not at all.
	least int
	// tail is what share of a shortened text is its end: 1/tail.
	tail int
}

// Columns that occur in several tables. What tells pods apart is the beginning
// of their names: the end is the node's. Containers of one pod begin alike.
func podColumn(least int) column { return column{"POD", least, 4} }

func elastic(title string, least int) column { return column{title, least, 2} }

func rigid(title string) column { return column{title: title} }

// writeTable writes rows under their titles, two blanks apart. A limit of 0
// means that nothing is shortened.
func writeTable(w io.Writer, limit int, columns []column, rows [][]string) error {
	for i := range rows {
		for j := range rows[i] {
			rows[i][j] = printable(rows[i][j])
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

// printable replaces what would move a terminal's cursor or colours: names of
// files and pods are other people's text.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
}

// fit takes from the widest column that can give until the table fits.
func fit(widths []int, columns []column, limit int) {
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

// start shortens a sentence at its end.
func start(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return string(runes[:limit-2]) + ".."
}

// span is a duration in two units at most: 45s, 3m20s, 5h12m, 12d.
func span(seconds int64) string {
	d := time.Duration(seconds) * time.Second
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", seconds)
	case d < 10*time.Minute && seconds%60 != 0:
		return d.String()
	case d < time.Hour:
		return fmt.Sprintf("%dm", seconds/60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%dm", seconds/3600, seconds/60%60)
	}
	return fmt.Sprintf("%dd", seconds/86400)
}
