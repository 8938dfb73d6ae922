package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// fileName is what units and files end with that are called like a section:
// kubelet.service.
var fileName = regexp.MustCompile(`\.(service|socket|slice|conf|ya?ml|jsonl?|md|go|sock|off)$`)

// sections are the fields of the configuration that hold others.
func sections() []string {
	var names []string
	for field := range fieldsOf(reflect.TypeFor[Configuration]()) {
		if field.Type.Kind() == reflect.Struct && field.Type != reflect.TypeFor[Duration]() {
			names = append(names, nameOf(field))
		}
	}
	return names
}

func fieldsOf(in reflect.Type) func(yield func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range in.NumField() {
			if !yield(in.Field(i)) {
				return
			}
		}
	}
}

// exists tells whether a path leads to something. A part in capitals stands for
// any name.
func exists(in reflect.Type, path []string) bool {
	if len(path) == 0 {
		return true
	}
	switch {
	case in.Kind() == reflect.Map:
		return exists(in.Elem(), path[1:])
	case in.Kind() == reflect.Slice:
		return exists(in.Elem(), path)
	case in.Kind() != reflect.Struct || in == reflect.TypeFor[Duration]():
		return false
	}
	for field := range fieldsOf(in) {
		if (path[0] == nameOf(field) || path[0] == strings.ToUpper(path[0])) && exists(field.Type, path[1:]) {
			return true
		}
	}
	return false
}

func TestEverySettingThatTheDocumentsNameExists(t *testing.T) {
	setting := regexp.MustCompile("`((?:" + strings.Join(sections(), "|") + `)(?:\.[A-Za-z]+)+)`)
	pages := []string{filepath.Join("..", "..", "README.md")}
	err := filepath.WalkDir(filepath.Join("..", "..", "docs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range setting.FindAllStringSubmatch(string(text), -1) {
			if fileName.MatchString(match[1]) {
				continue
			}
			found++
			if !exists(reflect.TypeFor[Configuration](), strings.Split(match[1], ".")) {
				t.Errorf("%s names %s, which the configuration does not have", page, match[1])
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d settings are found: are they written otherwise now?", found)
	}
}
