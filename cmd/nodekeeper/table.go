package main

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// least is how far a column is shortened at most.
const least = 12

// column is one column of a table.
type column struct {
	title string
	// elastic columns are shortened in the middle when the table is too wide.
	elastic bool
}

// writeTable writes rows under their titles, two blanks apart. A limit of 0
// means that nothing is shortened.
func writeTable(w io.Writer, limit int, columns []column, rows [][]string) error {
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
			fmt.Fprintf(&line, "%-*s  ", widths[i], middle(cell, widths[i]))
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

// fit takes from the widest elastic column until the table fits.
func fit(widths []int, columns []column, limit int) {
	total := 2 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for ; total > limit; total-- {
		widest := -1
		for i, c := range columns {
			if c.elastic && widths[i] > least && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

// middle shortens text in the middle: the beginning of a name says what it is,
// and its end which one.
func middle(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	head := (limit - 2) / 2
	tail := limit - 2 - head
	return string(runes[:head]) + ".." + string(runes[len(runes)-tail:])
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
	case d < 10*time.Minute:
		return strings.TrimSuffix(d.String(), "0s")
	case d < time.Hour:
		return fmt.Sprintf("%dm", seconds/60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%dm", seconds/3600, seconds/60%60)
	}
	return fmt.Sprintf("%dd", seconds/86400)
}
