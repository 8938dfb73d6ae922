package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/config"
)

func (p *program) config() *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "explain and check the configuration", Args: cli.OnlyCommands,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(
		&cobra.Command{
			Use:   "print-defaults",
			Short: "print the default configuration with an explanation of each field",
			Args:  cobra.NoArgs,
			RunE:  cli.Does(func(*cobra.Command, []string) error { return config.Print(p.out) }),
		},
		&cobra.Command{
			Use:   "check [FILE]",
			Short: "say what is wrong in a configuration (default: the one of --config)",
			Args:  cobra.MaximumNArgs(1),
			RunE: cli.Does(func(_ *cobra.Command, args []string) error {
				path := p.path
				if len(args) > 0 {
					path = args[0]
				}
				if _, err := config.Load(path); err != nil {
					return cli.Usage(err)
				}
				_, err := fmt.Fprintln(p.out, path+": ok")
				return err
			}),
		},
	)
	return c
}
