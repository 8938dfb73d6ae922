// Package control is the talk between a test and the virtual machine that it
// runs: commands and files, over net/rpc on a virtual serial port. The machine
// has no network.
package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Port is the name of the virtual serial port.
const Port = "nodekeeper.control"

// Service is the name under which a Guest is registered.
const Service = "Guest"

// Command is one to run in the machine.
type Command struct {
	Args    []string
	Timeout time.Duration
}

// Result of a Command. Code is -1 for a command that a signal ended.
type Result struct {
	Stdout, Stderr string
	Code           int
}

// File is one to write in the machine.
type File struct {
	Path    string
	Content []byte
	Mode    os.FileMode
}

// Guest answers in the machine. Its calls may overlap.
type Guest struct{}

// Run is an error only when the command could not be run, or not to its end.
func (Guest) Run(command Command, result *Result) error {
	ctx, cancel := context.WithTimeout(context.Background(), command.Timeout)
	defer cancel()
	process := exec.CommandContext(ctx, command.Args[0], command.Args[1:]...)
	process.WaitDelay = time.Second
	var out, errs bytes.Buffer
	process.Stdout, process.Stderr = &out, &errs
	err := process.Run()
	result.Stdout, result.Stderr = out.String(), errs.String()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: no end within %v", command.Args[0], command.Timeout)
	case errors.As(err, &exit):
		result.Code = exit.ExitCode()
		return nil
	}
	return err
}

// Write writes a file in one step; missing folders are made.
func (Guest) Write(file File, _ *struct{}) error {
	if err := os.MkdirAll(filepath.Dir(file.Path), 0o755); err != nil {
		return err
	}
	temporary := filepath.Join(filepath.Dir(file.Path), "."+filepath.Base(file.Path)+".new")
	if err := os.WriteFile(temporary, file.Content, file.Mode); err != nil {
		return err
	}
	return os.Rename(temporary, file.Path)
}
