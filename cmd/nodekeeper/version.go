package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/nodekeeper/nodekeeper/internal/cli"
)

// version is set by the linker: -X main.version=v1.2.3.
var version = ""

func versionText() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

func (p *program) version() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Args:  cobra.NoArgs,
		RunE: cli.Does(func(*cobra.Command, []string) error {
			_, err := io.WriteString(p.out, versionLine())
			return err
		}),
	}
}

func versionLine() string {
	return fmt.Sprintf("%s %s (%s, %s/%s)\n", name, versionText(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
