// Gendoc writes the comments of the configuration's types into a Go file, so
// that the program can show them: gendoc types.go docs_generated.go.
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gendoc:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want a source and a target file, got %q", args)
	}
	source, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	text, err := generate(source)
	if err != nil {
		return err
	}
	return os.WriteFile(args[1], text, 0o644)
}
