package view

import (
	"strings"
	"unicode/utf8"
)

// wrap breaks a text at blanks into lines of at most limit runes; 0 for one line.
func wrap(text string, limit int) []string {
	if limit <= 0 {
		return []string{text}
	}
	var lines []string
	var line string
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > limit {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
