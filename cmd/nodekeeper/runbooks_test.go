package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What the runbooks tell to type is a command line of this program.
func TestRunbooksNameCommandsThatExist(t *testing.T) {
	pages, err := filepath.Glob("../../docs/runbooks/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(err, pages)
	}
	seen := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		// Lines of blocks, and code within the text, which may be broken over lines.
		for _, found := range regexp.MustCompile("(?m)(?:^|`)nodekeeper\\s([^`#\n]+(?:\n[^`\n]+`)?)").FindAllStringSubmatch(string(text), -1) {
			seen++
			words := strings.Fields(strings.ReplaceAll(strings.TrimSuffix(found[1], "`"), `"looking into it"`, "why"))
			command, rest, err := (&program{}).root().Find(words)
			if err != nil || !command.HasParent() {
				t.Errorf("%s: nodekeeper %s: %v", filepath.Base(page), found[1], err)
				continue
			}
			if err := command.ParseFlags(rest); err != nil {
				t.Errorf("%s: nodekeeper %s: %v", filepath.Base(page), found[1], err)
			} else if err := command.ValidateArgs(command.Flags().Args()); err != nil {
				t.Errorf("%s: nodekeeper %s: %v", filepath.Base(page), found[1], err)
			}
		}
	}
	if seen < 40 {
		t.Errorf("only %d command lines", seen)
	}
}
