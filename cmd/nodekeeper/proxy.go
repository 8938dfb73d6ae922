package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/counted"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/front"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/kubeconfig"
)

const proxyHelp = `The watch guard is the kubelet's own way to its API server. It answers the
kubelet's reads of single Secrets and ConfigMaps, watches at the API server only
those that can change, and passes everything else through.

It serves none but the kubelet. While the file of proxy.killSwitch exists, it
passes connections on to the API server unread.`

// proxyMemory is what the guard needs beside its objects: a few thousand streams.
const proxyMemory = 128 << 20

func (p *program) proxy() *cobra.Command {
	var level slog.Level
	c := &cobra.Command{
		Use:   "proxy",
		Short: "be the kubelet's way to its API server (nodekeeper-proxy.service)",
		Long:  proxyHelp,
		Args:  cobra.NoArgs,
	}
	c.Flags().TextVar(&level, "log-level", slog.LevelInfo, "debug, info, warn or error")
	c.RunE = cli.Does(func(c *cobra.Command, _ []string) error {
		log := p.logger(level)
		cfg, err := p.load(c, func(text string) { log.Info(text) })
		if err != nil {
			return err
		}
		for _, note := range front.Harden() {
			log.Warn(note)
		}
		if os.Getenv("GOGC") == "" {
			debug.SetGCPercent(gcPercent)
		}
		if os.Getenv("GOMEMLIMIT") == "" {
			debug.SetMemoryLimit(cfg.Proxy.MaxBytes.Bytes() + proxyMemory)
		}
		return asRoot(runProxy(c.Context(), cfg, log))
	})
	return c
}

// runProxy listens first: connections wait until there is somebody to serve.
func runProxy(ctx context.Context, cfg config.Configuration, log *slog.Logger) error {
	l, fromSystemd, err := front.Listen(cfg.Proxy.Listen)
	if err != nil {
		return err
	}
	log.Info("proxy begins", "version", versionText(), "address", l.Addr().String(), "systemd", fromSystemd)
	place := placeOf(cfg, l.Addr().String())
	notify := notifier(log)
	source, err := place.await(ctx, notify, log)
	if err != nil {
		_ = l.Close()
		if ctx.Err() != nil {
			err = nil
		}
		return err
	}
	g, err := newGateway(cfg, place, source, l, notify, log)
	if err != nil {
		_ = l.Close()
		return err
	}
	return g.run(ctx)
}

// proxyPlace is where the proxy has its files.
type proxyPlace struct {
	// source is the kubelet's kubeconfig, derived the one that leads here.
	source, derived string
	// dir is the proxy's own directory: root's alone.
	dir string
	// ready is there while the proxy answers.
	ready string
	// address is the one that derived names.
	address string
}

func placeOf(cfg config.Configuration, address string) proxyPlace {
	dir := counted.Dir(cfg.Directories.Run)
	return proxyPlace{source: cfg.Proxy.Kubeconfig, derived: cfg.Proxy.Derived, dir: dir, ready: filepath.Join(dir, "ready"), address: address}
}

// awaitInterval is the time between two looks for a kubeconfig.
const awaitInterval = 2 * time.Second

// await waits for a kubeconfig that the proxy can work with; a node that has
// not joined has none. The service counts as started meanwhile, or it would
// keep the kubelet from starting that makes the file.
func (p proxyPlace) await(ctx context.Context, notify func(string), log *slog.Logger) (*kubeconfig.Source, error) {
	tick := time.NewTicker(awaitInterval)
	defer tick.Stop()
	for said := ""; ; {
		source, err := kubeconfig.Read(p.source)
		if err == nil {
			return source, nil
		}
		if err.Error() != said {
			said = err.Error()
			log.Warn("the kubelet does not go through the proxy", "error", said)
			notify("READY=1\nSTATUS=waiting: " + said)
		}
		if err := p.withdraw(log); err != nil {
			return nil, err
		}
		notify("WATCHDOG=1")
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// withdraw has the kubelet start without the proxy next time.
func (p proxyPlace) withdraw(log *slog.Logger) error {
	was, err := p.revert()
	if was {
		log.Warn("the derived kubeconfig was removed: the kubelet starts without the proxy", "file", p.derived)
	}
	return err
}

// revert removes the derived kubeconfig and tells whether there was any.
func (p proxyPlace) revert() (was bool, err error) {
	if err := p.unready(); err != nil {
		return false, err
	}
	return kubeconfig.Revert(p.derived)
}

func (p proxyPlace) unready() error {
	if err := os.Remove(p.ready); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("take back that the proxy is ready: %w", err)
	}
	return nil
}

// make makes the directories. That of the agent is for all to read.
func (p proxyPlace) make() error {
	if err := os.MkdirAll(filepath.Dir(p.dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(p.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Chmod(p.dir, 0o700)
}
