package main

import (
	"context"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/agent"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/counted"
)

// The agent's heap is a few MiB of short-lived snapshots: collecting it three
// times as often as usual costs 0.2 % of a core, and keeps the agent
// small. GOGC and GOMEMLIMIT win.
const (
	gcPercent   = 30
	memoryLimit = 32 << 20
)

// endTime bounds the wait for the records at the end.
const endTime = 10 * time.Second

func (p *program) run() *cobra.Command {
	var dryRun bool
	var level slog.Level
	c := &cobra.Command{
		Use:   "run",
		Short: "look after this node until told to stop",
		Args:  cobra.NoArgs,
	}
	c.Flags().BoolVar(&dryRun, "dry-run", false, "judge and report, and never act, whatever the configuration says")
	c.Flags().TextVar(&level, "log-level", slog.LevelInfo, "debug, info, warn or error")
	c.RunE = cli.Does(func(c *cobra.Command, _ []string) error {
		log := p.logger(level)
		cfg, err := p.load(c, func(text string) { log.Info(text) })
		if err != nil {
			return err
		}
		cfg.Restart.DryRun = cfg.Restart.DryRun || dryRun
		modest()
		n := wire(cfg, p.clock, log)
		defer n.close()
		watchdog, err := daemon.SdWatchdogEnabled(false)
		if err != nil {
			log.Warn("no watchdog: " + err.Error())
		}
		options := agent.Options{
			Config: cfg, Version: versionText(), Node: n.observer, Remedy: n.executor, Clock: p.clock,
			After: time.After, Notify: notifier(log), Watchdog: watchdog, Logger: log,
			Counts: guardCounts(counted.Dir(cfg.Directories.Run), p.clock),
		}
		return n.runAgent(c.Context(), options)
	})
	return c
}

// runAgent runs the agent, and what keeps crash records beside it. Without
// records the guarantee is what it was.
func (w *wired) runAgent(ctx context.Context, o agent.Options) error {
	a, err := agent.New(o)
	if err != nil {
		return asRoot(err)
	}
	defer a.Close()
	w.restore(o.Logger)
	name := w.settings().NodeName
	out := newOutside(o)
	defer out.start(ctx, a)()
	if o.Config.Logs.Enabled {
		r := &keeping{log: o.Logger, open: func() (*recording, error) {
			return newRecording(o.Config, name, w.runtime, o.Clock, a.Poke, out.crashed, o.Logger)
		}}
		r.try()
		a.Keep(r)
		ended := make(chan struct{})
		go func() { // ends with ctx, unless a disk hangs: then with the process
			defer close(ended)
			r.run(ctx)
		}()
		defer func() {
			select {
			case <-ended:
			case <-time.After(endTime):
				o.Logger.Warn("crash records are not closed in order: the disk does not answer")
			}
		}()
	}
	a.Run(ctx)
	return nil
}

// logger writes to stderr. The journal has its own time stamps.
func (p *program) logger(level slog.Level) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if os.Getenv("JOURNAL_STREAM") != "" {
		options.ReplaceAttr = func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}
	}
	return slog.New(slog.NewTextHandler(p.err, options))
}

func notifier(log *slog.Logger) func(string) {
	return func(message string) {
		if _, err := daemon.SdNotify(false, message); err != nil {
			log.Debug("notify the service manager", "error", err)
		}
	}
}

func modest() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}
