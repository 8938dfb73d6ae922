package main

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/pause"
)

func (p *program) pause() *cobra.Command {
	length := 2 * time.Hour
	var reason string
	c := &cobra.Command{
		Use:   "pause",
		Short: "take no act for a while; the agent goes on looking",
		Args:  cobra.NoArgs,
	}
	c.Flags().Var((*cli.TimeSpan)(&length), "for", "how long, at most "+cli.TimeSpan(pause.Longest).String())
	c.Flags().StringVar(&reason, "reason", "", "why, for whoever reads the status")
	c.RunE = cli.Does(func(c *cobra.Command, _ []string) error {
		cfg, err := p.load(c, silently)
		if err != nil {
			return err
		}
		boot, now := p.clock.BootID(), p.clock.Now()
		request, err := pause.For(length, reason, boot, now)
		if err != nil {
			return cli.Usage(err)
		}
		if err := pause.Set(cfg.Directories.State, request); err != nil {
			return asRoot(err)
		}
		_, err = fmt.Fprintf(p.out, "no acts %s; to end it earlier: nodekeeper resume\n",
			pause.Active(cfg.Directories.State, boot, now))
		return err
	})
	return c
}

func (p *program) resume() *cobra.Command {
	return &cobra.Command{
		Use:   "resume",
		Short: "end a pause",
		Args:  cobra.NoArgs,
		RunE: cli.Does(func(c *cobra.Command, _ []string) error {
			cfg, err := p.load(c, silently)
			if err != nil {
				return err
			}
			was := pause.Active(cfg.Directories.State, p.clock.BootID(), p.clock.Now())
			if err := pause.Clear(cfg.Directories.State); err != nil {
				return asRoot(err)
			}
			text := "resumed"
			if was == "" {
				text = "there was no pause"
			}
			_, err = fmt.Fprintln(p.out, text)
			return err
		}),
	}
}

// asRoot adds what to do to an error about the agent's own files.
func asRoot(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: run it as root", err)
	}
	return err
}
