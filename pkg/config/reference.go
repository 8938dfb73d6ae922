package config

import (
	"fmt"
	"io"
	"reflect"
	"strings"
)

//go:generate go run ./internal/genref ../../docs/configuration.md

// WriteReference writes the reference of the configuration file in Markdown:
// one table for each section, with every field, its default and its meaning.
func WriteReference(w io.Writer) error {
	r := &reference{}
	r.text("# Configuration\n\n%s\n\n", docs["Configuration"])
	r.text("The file is `%s`. A field that is not known, or a value that cannot be meant, is an error with its place; nothing\n"+
		"is guessed. `nodekeeper config check FILE` says so without starting anything, and `nodekeeper config print-defaults`\n"+
		"prints the whole file with these comments.\n\n", DefaultPath)
	r.text("This page is made from the types in `pkg/config/types.go` by `make generate`.\n")
	r.section(reflect.ValueOf(Default()), "")
	_, err := io.WriteString(w, r.out.String())
	return err
}

type reference struct{ out strings.Builder }

func (r *reference) text(format string, args ...any) { fmt.Fprintf(&r.out, format, args...) }

// section is the table of a struct's own fields, and then its sections.
func (r *reference) section(in reflect.Value, path string) {
	type inner struct {
		path  string
		value reflect.Value
	}
	var below []inner
	if path != "" {
		r.text("\n## %s\n\n%s\n", path, docs[in.Type().Name()])
	}
	began := false
	for i := range in.NumField() {
		field, value := in.Type().Field(i), in.Field(i)
		name := nameOf(field)
		if value.Kind() == reflect.Struct && value.Type() != reflect.TypeFor[Duration]() {
			below = append(below, inner{strings.TrimPrefix(path+"."+name, "."), value})
			continue
		}
		if !began {
			r.text("\n| field | default | meaning |\n|---|---|---|\n")
			began = true
		}
		r.text("| `%s` | %s | %s |\n", name, cell(value), strings.ReplaceAll(docs[in.Type().Name()+"."+name], "|", "\\|"))
	}
	for _, b := range below {
		r.section(b.value, b.path)
	}
}

// cell is a default in a table.
func cell(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Slice:
		if v.Len() == 0 {
			return "none"
		}
		var all []string
		for i := range v.Len() {
			all = append(all, "`"+scalar(v.Index(i))+"`")
		}
		return strings.Join(all, ", ")
	case reflect.Map:
		if v.Len() == 0 {
			return "none"
		}
		return "see `print-defaults`"
	}
	if v.IsZero() && v.Kind() == reflect.String {
		return "empty"
	}
	return "`" + scalar(v) + "`"
}
