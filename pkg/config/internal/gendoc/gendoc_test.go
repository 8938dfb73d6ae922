package main

import (
	"os"
	"strings"
	"testing"
)

func TestTheCheckedInFileIsCurrent(t *testing.T) {
	source, err := os.ReadFile("../../types.go")
	if err != nil {
		t.Fatal(err)
	}
	want, err := generate(source)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../docs_generated.go")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("docs_generated.go is not that of types.go; run go generate ./pkg/config")
	}
}

func TestWhatCannotBeLookedUpIsRefused(t *testing.T) {
	for name, body := range map[string]string{
		"no comment on a field":  "// T is.\ntype T struct {\n\tA int `json:\"a\"`\n}",
		"no comment on a type":   "type T struct {\n\t// A is.\n\tA int `json:\"a\"`\n}",
		"no JSON name":           "// T is.\ntype T struct {\n\t// A is.\n\tA int `yaml:\"a\"`\n}",
		"no tag":                 "// T is.\ntype T struct {\n\t// A is.\n\tA int\n}",
		"two fields on one line": "// T is.\ntype T struct {\n\t// A is.\n\tA, B int `json:\"a\"`\n}",
		"no Go":                  "type",
	} {
		if out, err := generate([]byte("package config\n\n" + body)); err == nil {
			t.Errorf("%s: got\n%s", name, out)
		}
	}
}

func TestNamesAreThoseOfTheFile(t *testing.T) {
	out, err := generate([]byte("package config\n// T is.\ntype T struct {\n// GapMax is the\n// longest Gap, not GapMaximum.\nGapMax int `json:\"gapMax,omitempty\"`\n// Gap is.\nGap int `json:\"gap\"`\n}"))
	if err != nil {
		t.Fatal(err)
	}
	if want := `"T.gapMax": "gapMax is the longest gap, not GapMaximum.",`; !strings.Contains(string(out), want) {
		t.Errorf("got\n%s\nwant a line %s", out, want)
	}
}
