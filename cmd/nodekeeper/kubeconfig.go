package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/kubeconfig"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/localca"
	"github.com/nodekeeper/nodekeeper/pkg/node/unit"
)

const kubeconfigHelp = `The kubelet goes through the proxy when it is started with a kubeconfig that is
derived from its own. The proxy derives it when it is ready, and again when the
kubelet's own changes, which itself is never written. These commands are for
looking, and for the way back.`

// restartTime bounds a restart of the kubelet.
const restartTime = 50 * time.Second

func (p *program) kubeconfig() *cobra.Command {
	c := &cobra.Command{
		Use:   "kubeconfig",
		Short: "derive, check or remove the kubeconfig that leads the kubelet through the proxy",
		Long:  kubeconfigHelp,
		Args:  cli.OnlyCommands,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(p.kubeconfigDerive(), p.kubeconfigCheck(), p.kubeconfigRevert())
	return c
}

func (p *program) kubeconfigDerive() *cobra.Command {
	return &cobra.Command{
		Use:   "derive",
		Short: "write it now; the kubelet reads it at its next start",
		Args:  cobra.NoArgs,
		RunE: cli.Does(func(c *cobra.Command, _ []string) error {
			cfg, err := p.load(c, silently)
			if err != nil {
				return err
			}
			place := placeOf(cfg, cfg.Proxy.Listen)
			source, authority, err := place.open()
			if err != nil {
				return asRoot(err)
			}
			content, err := kubeconfig.Derive(source, place.address, authority.PEM())
			if err != nil {
				return err
			}
			changed, err := kubeconfig.Write(place.derived, content)
			if err != nil {
				return asRoot(err)
			}
			said := "was as it should be"
			if changed {
				said = "written"
			}
			_, err = fmt.Fprintf(p.out, "%s: %s\n", place.derived, said)
			return err
		}),
	}
}

// open reads the kubelet's kubeconfig and the node's authority, which is made
// if there is none.
func (p proxyPlace) open() (*kubeconfig.Source, *localca.Authority, error) {
	source, err := kubeconfig.Read(p.source)
	if err != nil {
		return nil, nil, err
	}
	if err := p.make(); err != nil {
		return nil, nil, err
	}
	authority, err := localca.Open(p.dir, nil, time.Now)
	return source, authority, err
}

func (p *program) kubeconfigCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "say what keeps the kubelet from going through the proxy",
		Args:  cobra.NoArgs,
		RunE: cli.Does(func(c *cobra.Command, _ []string) error {
			cfg, err := p.load(c, silently)
			if err != nil {
				return err
			}
			problems := asRoot(placeOf(cfg, cfg.Proxy.Listen).check(cfg.Proxy.KillSwitch, p.proc()))
			if problems != nil {
				return problems
			}
			_, err = fmt.Fprintf(p.out, "the kubelet goes through the proxy at %s\n", cfg.Proxy.Listen)
			return err
		}),
	}
}

// check has an error for each problem.
func (p proxyPlace) check(killSwitch, proc string) error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if _, err := os.Lstat(localca.File(p.dir)); err != nil {
		add("the proxy has not run since the node was booted: %w", err)
	} else {
		source, authority, err := p.open()
		if err != nil {
			return err
		}
		for _, line := range kubeconfig.Check(p.derived, source, p.address, authority.PEM(), time.Now()) {
			problems = append(problems, errors.New(line))
		}
	}
	if _, err := os.Lstat(killSwitch); err == nil {
		add("%s exists: connections are passed on unread, and the kubelet starts without the proxy", killSwitch)
	}
	if _, err := os.Lstat(p.ready); err != nil {
		add("the proxy is not ready: %w", err)
	}
	if len(kubeconfig.Users(proc, p.derived)) == 0 {
		add("no kubelet runs with --kubeconfig=%s", p.derived)
	}
	return errors.Join(problems...)
}

func (p *program) kubeconfigRevert() *cobra.Command {
	var restart bool
	c := &cobra.Command{
		Use:   "revert",
		Short: "remove it, so that the kubelet starts without the proxy",
		Args:  cobra.NoArgs,
	}
	c.Flags().BoolVar(&restart, "restart-kubelet", false, "restart the kubelet if it runs with the one that is removed")
	c.RunE = cli.Does(func(c *cobra.Command, _ []string) error {
		cfg, err := p.load(c, silently)
		if err != nil {
			// The way back may not depend on a file that somebody edits.
			if !restart {
				return err
			}
			cfg = config.Default()
		}
		place := placeOf(cfg, cfg.Proxy.Listen)
		was, err := place.revert()
		if err != nil {
			return asRoot(err)
		}
		said := place.derived + ": there was none"
		if was {
			said = place.derived + ": removed"
		}
		if _, err := fmt.Fprintln(p.out, said); err != nil {
			return err
		}
		if !restart || len(kubeconfig.Users(p.proc(), place.derived)) == 0 {
			return nil
		}
		if err := restartKubelet(c.Context(), cfg, p); err != nil {
			return err
		}
		_, err = fmt.Fprintln(p.out, "the kubelet was restarted")
		return err
	})
	return c
}

// restartKubelet restarts it as the agent would.
func restartKubelet(ctx context.Context, cfg config.Configuration, p *program) error {
	ctx, cancel := context.WithTimeout(ctx, restartTime)
	defer cancel()
	if command := cfg.Kubelet.RestartCommand; len(command) > 0 {
		out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("restart the kubelet: %s: %w: %s", command[0], err, strings.TrimSpace(string(out)))
		}
		return nil
	}
	units := unit.New(p.logger(0))
	defer units.Close()
	return units.Restart(ctx, cfg.Kubelet.Unit)
}

// proc is where processes are looked for.
func (p *program) proc() string {
	if p.processes != "" {
		return p.processes
	}
	return "/proc"
}
