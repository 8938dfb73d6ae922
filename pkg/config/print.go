package config

import (
	"bufio"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:generate go run ./internal/gendoc types.go docs_generated.go

// width is where comments are wrapped.
const width = 78

// Print writes the default configuration as a commented file. It can be read
// back, and means the same as an empty one. The comments are those of the
// types; where a type occurs again they are not repeated.
func Print(w io.Writer) error {
	p := &printer{to: bufio.NewWriter(w), explained: map[string]bool{}}
	p.comment("", docs["Configuration"])
	p.fields(reflect.ValueOf(Default()), "")
	return p.to.Flush()
}

// printer writes YAML; errors stay in the buffered writer until its end.
type printer struct {
	to        *bufio.Writer
	explained map[string]bool
}

func (p *printer) fields(in reflect.Value, indent string) {
	for i := range in.NumField() {
		field, value := in.Type().Field(i), in.Field(i)
		key := in.Type().Name() + "." + nameOf(field)
		if !p.explained[key] {
			p.explained[key] = true
			if i > 0 || indent == "" {
				fmt.Fprintln(p.to)
			}
			p.comment(indent, docs[key])
		}
		fmt.Fprintf(p.to, "%s%s:", indent, nameOf(field))
		p.value(value, indent)
	}
}

func (p *printer) value(v reflect.Value, indent string) {
	inner := indent + "  "
	switch {
	case v.Type() == reflect.TypeFor[Duration](), v.Kind() != reflect.Struct && v.Kind() != reflect.Slice && v.Kind() != reflect.Map:
		fmt.Fprintln(p.to, " "+scalar(v))
	case v.Kind() == reflect.Struct:
		fmt.Fprintln(p.to)
		p.fields(v, inner)
	case v.Len() == 0 && v.Kind() == reflect.Slice:
		fmt.Fprintln(p.to, " []")
	case v.Len() == 0:
		fmt.Fprintln(p.to, " {}")
	case v.Kind() == reflect.Slice:
		fmt.Fprintln(p.to)
		for i := range v.Len() {
			fmt.Fprintf(p.to, "%s- %s\n", inner, scalar(v.Index(i)))
		}
	default:
		fmt.Fprintln(p.to)
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			fmt.Fprintf(p.to, "%s%s: %s\n", inner, scalar(key), scalar(v.MapIndex(key)))
		}
	}
}

// scalar writes a value with the quotes that it needs.
func scalar(v reflect.Value) string {
	value := v.Interface()
	if d, ok := value.(Duration); ok {
		value = short(d.Duration)
	}
	text, err := yaml.Marshal(value)
	if err != nil {
		return fmt.Sprintf("%q", fmt.Sprint(value))
	}
	return strings.TrimSuffix(string(text), "\n")
}

// comment writes text as a comment, wrapped.
func (p *printer) comment(indent, text string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(indent)+3+len(line)+len(word) > width {
			fmt.Fprintf(p.to, "%s# %s\n", indent, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		fmt.Fprintf(p.to, "%s# %s\n", indent, line)
	}
}
