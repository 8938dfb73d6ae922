package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodekeeper/nodekeeper/cmd/internal/hostinstall"
	"github.com/nodekeeper/nodekeeper/internal/cli"
)

const installHelp = `For a trial on clusters without a machine config operator: a DaemonSet runs this in
nodekeeper's image, with the node's directories below --host (manifests/installer).
It copies the programs, writes units and, where there are none, settings with which
the agent only says what it would do, and has the node's systemd start the agent.

Where a MachineConfig or a package has brought nodekeeper, it changes nothing.`

// installTime bounds an installation or a removal.
const installTime = 2 * time.Minute

func (p *program) install() *cobra.Command {
	var host string
	var remove, idle bool
	c := &cobra.Command{
		Use:   "install",
		Short: "put the agent onto a node from a container, or take it away",
		Long:  installHelp,
		Args:  cobra.NoArgs,
	}
	flags := c.Flags()
	flags.StringVar(&host, "host", "", "where the node's directories are")
	flags.BoolVar(&remove, "remove", false, "take the agent away; crash records and changed settings stay")
	flags.BoolVar(&idle, "idle", false, "do nothing until it is told to end: what is left of a pod that has installed")
	c.RunE = cli.Does(func(c *cobra.Command, _ []string) error {
		switch {
		case idle && (host != "" || remove):
			return cli.Usage(errors.New("--idle goes with nothing else"))
		case idle:
			<-c.Context().Done()
			return nil
		case host == "":
			return cli.Usage(errors.New("name the node's directories with --host"))
		}
		ctx, cancel := context.WithTimeout(c.Context(), installTime)
		defer cancel()
		return p.onHost(ctx, host, remove)
	})
	return c
}

func (p *program) onHost(ctx context.Context, root string, remove bool) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the programs: %w", err)
	}
	systemd, err := hostinstall.Dial(ctx, root)
	if err != nil {
		return err
	}
	defer systemd.Close()
	h := hostinstall.Host{
		Root: root, Programs: filepath.Dir(self), Systemd: systemd,
		Say:      func(line string) { fmt.Fprintln(p.out, line) },
		Patience: time.Minute, Pause: 200 * time.Millisecond,
	}
	if remove {
		return h.Remove(ctx)
	}
	return h.Install(ctx)
}
