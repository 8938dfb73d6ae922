package config

import (
	"fmt"
	"slices"
	"strings"
)

// FieldError is one thing that is wrong in a configuration.
type FieldError struct {
	// File is the configuration's name; empty from Validate.
	File string
	// Line counts from 1; 0 where no line is known.
	Line int
	// Field is the path, for example "restart.rejectedGaps[2]"; empty where the
	// file as a whole is meant.
	Field string
	// Message says what is wrong and what to do, on one line.
	Message string
}

// Error is "config.yaml:12: restart.looks: must be at least 1", without the
// parts that are not known.
func (e FieldError) Error() string {
	var b strings.Builder
	switch {
	case e.File != "" && e.Line > 0:
		fmt.Fprintf(&b, "%s:%d: ", e.File, e.Line)
	case e.File != "":
		fmt.Fprintf(&b, "%s: ", e.File)
	case e.Line > 0:
		fmt.Fprintf(&b, "line %d: ", e.Line)
	}
	if e.Field != "" {
		b.WriteString(e.Field + ": ")
	}
	b.WriteString(e.Message)
	return b.String()
}

// Errors is everything that is wrong in a configuration, in the order of its
// lines. Load and Parse return it; get it back with errors.As.
type Errors []FieldError

// Error has one line for each FieldError.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives each error to errors.Is and errors.As.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}

// orNil is nil for no errors, and the errors in order of line otherwise.
func (e Errors) orNil() error {
	if len(e) == 0 {
		return nil
	}
	slices.SortStableFunc(e, func(a, b FieldError) int { return a.Line - b.Line })
	return e
}
