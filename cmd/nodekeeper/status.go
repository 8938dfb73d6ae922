package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodekeeper/nodekeeper/cmd/internal/view"
	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
)

func (p *program) status() *cobra.Command {
	var form cli.Form
	var watch bool
	c := &cobra.Command{
		Use:   "status",
		Short: "show what the agent sees, what is wrong, and what it waits for",
		Long: `Show what the agent sees, what is wrong, and what it waits for.

NEXT is the time until a step may be taken, BLOCKED-BY what holds it back.

Exit codes: 0 all is well or still within its deadline; 3 something is down or
wrong beyond its deadline; 4 the agent does not run, or has not looked for
three intervals and ten seconds; 1 and 2 as for all commands.`,
		Args: cobra.NoArgs,
	}
	form.Add(c.Flags())
	c.Flags().BoolVarP(&watch, "watch", "w", false, "show it again after each look, until interrupted")
	c.RunE = cli.Does(func(c *cobra.Command, _ []string) error {
		cfg, err := p.load(c, silently)
		if err != nil {
			return err
		}
		if watch {
			return p.watchStatus(c.Context(), form, cfg.Directories.Run, cfg.Interval.Duration)
		}
		return p.showStatus(form, cfg.Directories.Run)
	})
	return c
}

func (p *program) showStatus(form cli.Form, dir string) error {
	s, err := status.Read(dir)
	if errors.Is(err, status.ErrNotRunning) {
		return cli.Exit{Code: view.ExitNoAgent, Err: fmt.Errorf("the agent does not run (%w): systemctl status nodekeeper", err)}
	}
	if err != nil {
		return err
	}
	return view.Status(p.out, form, s, view.Clock{Now: p.clock.Now(), BootID: p.clock.BootID()})
}

// watchStatus shows the status again and again. What is wrong is shown too,
// and does not end it; the interruption is no failure.
func (p *program) watchStatus(ctx context.Context, form cli.Form, dir string, interval time.Duration) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if cli.Terminal(p.out) {
			fmt.Fprint(p.out, "\033[H\033[2J")
		}
		cli.Code(p.showStatus(form, dir), p.err, name)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if !cli.Terminal(p.out) && form != cli.AsJSON {
			separator := ""
			if form == cli.AsYAML {
				separator = "---"
			}
			fmt.Fprintln(p.out, separator)
		}
	}
}
