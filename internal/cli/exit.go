package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// The exit codes of all programs; 3 and above are a command's own.
const (
	ExitOK      = 0
	ExitFailure = 1
	ExitUsage   = 2
)

// Exit is an error with the code that the program ends with. An Err of nil
// means that everything has been said.
type Exit struct {
	Code int
	Err  error
}

func (e Exit) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

func (e Exit) Unwrap() error { return e.Err }

// Usage makes an error one of bad usage.
func Usage(err error) error { return Exit{ExitUsage, err} }

// Does turns what a command does into what cobra wants: a plain error of it is
// a failure, not bad usage.
func Does(f func(c *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		err := f(c, args)
		var e Exit
		if err == nil || errors.As(err, &e) {
			return err
		}
		return Exit{ExitFailure, err}
	}
}

// Worst makes one error of several, with the highest of their exit codes. It is
// nil if all are.
func Worst(errs ...error) error {
	worst := Exit{}
	var said []error
	for _, err := range errs {
		if err == nil {
			continue
		}
		var e Exit
		if !errors.As(err, &e) {
			e.Code = ExitFailure
		}
		worst.Code = max(worst.Code, e.Code)
		if err.Error() != "" {
			said = append(said, err)
		}
	}
	if worst.Code == ExitOK {
		return nil
	}
	worst.Err = errors.Join(said...)
	return worst
}

// Code says what went wrong, in one line where there is one, and returns the
// exit code. Errors that carry none come from the reading of the command line.
func Code(err error, stderr io.Writer, program string) int {
	if err == nil {
		return ExitOK
	}
	code := ExitUsage
	var e Exit
	if errors.As(err, &e) {
		code = e.Code
	}
	if text := strings.TrimSpace(err.Error()); text != "" {
		fmt.Fprintln(stderr, program+": "+strings.ReplaceAll(text, "\n", "\n"+program+": "))
	}
	return code
}
