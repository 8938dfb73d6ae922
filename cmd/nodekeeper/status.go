package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
)

func (p *program) status() *cobra.Command {
	var form output
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
	form.add(c)
	c.Flags().BoolVarP(&watch, "watch", "w", false, "show it again after each look, until interrupted")
	c.RunE = does(func(c *cobra.Command, _ []string) error {
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

func (p *program) showStatus(form output, dir string) error {
	s, err := status.Read(dir)
	if errors.Is(err, status.ErrNotRunning) {
		return exit{exitNoAgent, fmt.Errorf("the agent does not run (%w): systemctl status nodekeeper", err)}
	}
	if err != nil {
		return err
	}
	now := p.clock.Now()
	if written, err := form.data(p.out, s); err != nil {
		return err
	} else if !written {
		if err := p.statusTable(form, s, now); err != nil {
			return err
		}
	}
	switch {
	case s.Agent.BootID != p.clock.BootID():
		return exit{exitNoAgent, errors.New("the agent has not run since the node was booted: systemctl status nodekeeper")}
	case s.Stale(p.clock.BootID(), now):
		return exit{exitNoAgent, fmt.Errorf("the agent has not looked for %s: systemctl status nodekeeper",
			span(int64((now.Boot-s.Agent.Taken.Boot)/time.Second)))}
	case s.Overdue() > 0 || s.Node.Manifests.Error != "":
		// Without the manifests nothing is guarded, whatever the rows say.
		return exit{exitOverdue, nil}
	}
	return nil
}

// watchStatus shows the status again and again. What is wrong is shown too,
// and does not end it; the interruption is no failure.
func (p *program) watchStatus(ctx context.Context, form output, dir string, interval time.Duration) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if terminal(p.out) {
			fmt.Fprint(p.out, "\033[H\033[2J")
		}
		code(p.showStatus(form, dir), p.err)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if !terminal(p.out) && form != asJSON {
			separator := ""
			if form == asYAML {
				separator = "---"
			}
			fmt.Fprintln(p.out, separator)
		}
	}
}

func terminal(w any) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
