package config

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// decoder reads a YAML tree into the types of this package. It goes on after
// an error, and remembers on which line each field stands.
type decoder struct {
	errs  Errors
	lines map[string]int
	// unread are the fields that could not be read; false stands for a list of
	// which some items could not.
	unread map[string]bool
	broken bool // not YAML: nothing was read
}

func (d *decoder) add(line int, field, format string, args ...any) {
	d.errs = append(d.errs, FieldError{Line: line, Field: field, Message: fmt.Sprintf(format, args...)})
	if field == "" {
		return
	}
	d.unread[field] = true
	if list := outer(field); strings.HasSuffix(field, "]") && !d.unread[list] {
		d.unread[list] = false
	}
}

// failed tells that a field, what it is part of, or one of the list that it is
// could not be read.
func (d *decoder) failed(field string) bool {
	if _, partly := d.unread[field]; partly || d.broken {
		return true
	}
	for field = outer(field); field != ""; field = outer(field) {
		if d.unread[field] {
			return true
		}
	}
	return false
}

// outer is what a field is part of; empty at the top.
func outer(field string) string {
	return field[:max(strings.LastIndexAny(field, ".["), 0)]
}

// lineOf is the line of a field, or of the nearest thing around it that is
// written; 0 if there is none.
func (d *decoder) lineOf(field string) int {
	for field != "" {
		if line, ok := d.lines[field]; ok {
			return line
		}
		field = outer(field)
	}
	return 0
}

// file reads the top of the tree. Both parts of the format's identity must be
// written, for a default would read any file as ours.
func (d *decoder) file(root *yaml.Node, c *Configuration) {
	d.value(root, "", reflect.ValueOf(c).Elem())
	for _, field := range []struct{ name, value string }{{"apiVersion", APIVersion}, {"kind", Kind}} {
		if _, written := d.lines[field.name]; !written && !d.failed(field.name) {
			d.add(1, field.name, "is missing; write %s: %s", field.name, field.value)
		}
	}
}

// value reads one node into a field.
func (d *decoder) value(n *yaml.Node, path string, into reflect.Value) {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		d.add(n.Line, path, "anchors and aliases are not read; write the value itself")
	case n.ShortTag() == "!!null" && n.Kind == yaml.ScalarNode && path != "":
		d.add(n.Line, path, "has no value; write one, or remove the line for the default")
	case into.Type() == reflect.TypeFor[Duration]():
		d.duration(n, path, into)
	case into.Kind() == reflect.Struct:
		d.fields(n, path, into)
	case into.Kind() == reflect.Slice:
		d.list(n, path, into)
	case into.Kind() == reflect.Map:
		d.gates(n, path, into)
	default:
		d.scalar(n, path, into)
	}
}

// fields reads a mapping into a struct by its JSON names.
func (d *decoder) fields(n *yaml.Node, path string, into reflect.Value) {
	d.mapping(n, path, func(key, value *yaml.Node) {
		field, ok := fieldByName(into, key.Value)
		if !ok {
			d.add(key.Line, under(path, key.Value), "unknown field; %s", suggest(path, key.Value, into.Type()))
			return
		}
		d.value(value, under(path, key.Value), field)
	})
}

// gates reads a mapping of names to switches; it replaces the default.
func (d *decoder) gates(n *yaml.Node, path string, into reflect.Value) {
	into.SetZero()
	d.mapping(n, path, func(key, value *yaml.Node) {
		element := reflect.New(into.Type().Elem()).Elem()
		d.value(value, under(path, key.Value), element)
		if into.IsNil() {
			into.Set(reflect.MakeMap(into.Type()))
		}
		into.SetMapIndex(reflect.ValueOf(key.Value), element)
	})
}

// mapping calls each with the pairs of a mapping. Repeated keys are refused:
// of two values one would be silently ignored.
func (d *decoder) mapping(n *yaml.Node, path string, each func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		d.add(n.Line, path, "must hold fields, one on a line as name: value")
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
			d.add(key.Line, path, "a field's name must be a plain word")
			continue
		}
		field := under(path, key.Value)
		if first, ok := seen[key.Value]; ok {
			d.add(key.Line, field, "is written twice, first on line %d; remove one", first)
			continue
		}
		seen[key.Value], d.lines[field] = key.Line, key.Line
		each(key, value)
	}
}

// list reads a sequence; it replaces the default. An empty one is nil, as it
// is in Default.
func (d *decoder) list(n *yaml.Node, path string, into reflect.Value) {
	if n.Kind != yaml.SequenceNode {
		d.add(n.Line, path, "must be a list, as in [a, b]")
		return
	}
	into.SetZero()
	for i, item := range n.Content {
		element := reflect.New(into.Type().Elem()).Elem()
		field := fmt.Sprintf("%s[%d]", path, i)
		d.lines[field] = item.Line
		d.value(item, field, element)
		into.Set(reflect.Append(into, element))
	}
}

func (d *decoder) duration(n *yaml.Node, path string, into reflect.Value) {
	wait, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil {
		d.add(n.Line, path, "must be a duration with its unit, such as 90s, 5m or 1h30m%s", found(n))
		return
	}
	into.Set(reflect.ValueOf(Duration{Duration: wait}))
}

// scalar reads text, numbers and switches. The tag decides, so that a node
// name of 007 is not read as a number and written back as 7.
func (d *decoder) scalar(n *yaml.Node, path string, into reflect.Value) {
	want, tag := "text; put it in quotes if it looks like a number", "!!str"
	switch into.Kind() {
	case reflect.Bool:
		want, tag = "true or false", "!!bool"
	case reflect.Int:
		want, tag = "a whole number", "!!int"
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() != tag || n.Decode(into.Addr().Interface()) != nil {
		d.add(n.Line, path, "must be %s%s", want, found(n))
	}
}

// found shows a scalar that is not what it should be.
func found(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || len(n.Value) > 60 {
		return ""
	}
	return fmt.Sprintf(", not %q", n.Value)
}

func under(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
