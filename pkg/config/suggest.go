package config

import (
	"reflect"
	"strings"
)

// nameOf is the name of a field in the file.
func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func fieldByName(in reflect.Value, name string) (reflect.Value, bool) {
	for i := range in.NumField() {
		if nameOf(in.Type().Field(i)) == name {
			return in.Field(i), true
		}
	}
	return reflect.Value{}, false
}

// suggest says which field may have been meant by an unknown one: one with a
// similar name at the same place, or one of the same name elsewhere.
func suggest(path, name string, in reflect.Type) string {
	best, least := "", max(2, len(name)/3)+1
	var known []string
	for i := range in.NumField() {
		candidate := nameOf(in.Field(i))
		known = append(known, candidate)
		if far := distance(strings.ToLower(name), strings.ToLower(candidate)); far < least {
			best, least = candidate, far
		}
	}
	if best != "" {
		return "did you mean " + under(path, best) + "?"
	}
	if elsewhere := places(reflect.TypeFor[Configuration](), "", name); len(elsewhere) == 1 {
		return "did you mean " + elsewhere[0] + "?"
	}
	return "known here are " + strings.Join(known, ", ")
}

// places are the paths of all fields of one name.
func places(in reflect.Type, path, name string) []string {
	var out []string
	for i := range in.NumField() {
		field := in.Field(i)
		here := under(path, nameOf(field))
		if nameOf(field) == name {
			out = append(out, here)
		}
		if field.Type.Kind() == reflect.Struct && field.Type != reflect.TypeFor[Duration]() {
			out = append(out, places(field.Type, here, name)...)
		}
	}
	return out
}

// distance counts the letters to insert, remove or replace to make b of a. Of
// long names, which no field has, it is the length.
func distance(a, b string) int {
	if len(a) > 64 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
