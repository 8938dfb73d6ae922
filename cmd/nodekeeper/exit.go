package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// The exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
	exitOverdue = 3
	exitNoAgent = 4
)

// exit is an error with the code that the program ends with. An error inside
// of nil means that everything has been said.
type exit struct {
	code int
	err  error
}

func (e exit) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e exit) Unwrap() error { return e.err }

func usage(err error) error { return exit{exitUsage, err} }

// code says what went wrong, in one line where there is one, and returns the
// exit code. Errors that carry none come from the reading of the command line.
func code(err error, stderr io.Writer) int {
	if err == nil {
		return exitOK
	}
	code := exitUsage
	var e exit
	if errors.As(err, &e) {
		code = e.code
	}
	if text := strings.TrimSpace(err.Error()); text != "" {
		fmt.Fprintln(stderr, "nodekeeper: "+strings.ReplaceAll(text, "\n", "\nnodekeeper: "))
	}
	return code
}
