// Genref writes the reference of the configuration: genref FILE.
package main

import (
	"bytes"
	"fmt"
	"os"

	"github.com/nodekeeper/nodekeeper/pkg/config"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "genref:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("want one target file, got %q", args)
	}
	var text bytes.Buffer
	if err := config.WriteReference(&text); err != nil {
		return err
	}
	return os.WriteFile(args[0], text.Bytes(), 0o644)
}
