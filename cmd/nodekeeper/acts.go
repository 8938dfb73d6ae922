package main

import (
	"github.com/spf13/cobra"

	"github.com/nodekeeper/nodekeeper/cmd/internal/view"
	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/journal"
)

func (p *program) acts() *cobra.Command {
	var form cli.Form
	c := &cobra.Command{
		Use:   "acts",
		Short: "list what the agent has done, and what came of it, oldest first",
		Args:  cobra.NoArgs,
	}
	form.Add(c.Flags())
	c.RunE = cli.Does(func(c *cobra.Command, _ []string) error {
		cfg, err := p.load(c, silently)
		if err != nil {
			return err
		}
		acts, readErr := journal.Read(cfg.Directories.State)
		if acts == nil && readErr != nil {
			return asRoot(readErr)
		}
		if err := view.Acts(p.out, form, acts); err != nil {
			return err
		}
		return readErr
	})
	return c
}
