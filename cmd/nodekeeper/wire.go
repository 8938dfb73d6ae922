package main

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/pause"
	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/node/cri"
	"github.com/nodekeeper/nodekeeper/pkg/node/journal"
	"github.com/nodekeeper/nodekeeper/pkg/node/kubelet"
	"github.com/nodekeeper/nodekeeper/pkg/node/manifest"
	"github.com/nodekeeper/nodekeeper/pkg/node/process"
	"github.com/nodekeeper/nodekeeper/pkg/node/unit"
	"github.com/nodekeeper/nodekeeper/pkg/remedy"
)

// wired is the real node: what looks at it and what acts on it.
type wired struct {
	observer *node.Observer
	executor *remedy.Executor
	runtime  *cri.Client
	close    func()
}

var _ node.ManifestRules = (*manifest.Reader)(nil)

// wire connects the adapters. Nothing is opened before the first look.
func wire(cfg config.Configuration, clock node.Clock, log *slog.Logger) *wired {
	runtime := cri.New(cfg.Runtime.Socket, log)
	units := unit.New(log)
	client := kubelet.New(cfg.Kubelet, log)
	reader := cri.NewReader(runtime, cri.Options{
		Host: process.ThisHost(), Clock: clock, Unit: cfg.Runtime.Unit,
		Monitor: cfg.Runtime.Monitor, OCIRuntimes: cfg.Runtime.OCIRuntimes, Programs: cfg.Restart.Busy.Programs, Log: log,
	})
	observer := &node.Observer{
		Clock:       clock,
		Identity:    kubelet.NewIdentity(cfg.Kubelet, process.ThisHost(), clock, log),
		Manifests:   manifest.NewReader(),
		Runtime:     reader,
		Kubelet:     client,
		Units:       units,
		Journal:     journal.New(),
		Images:      reader,
		KubeletUnit: cfg.Kubelet.Unit,
		RuntimeUnit: cfg.Runtime.Unit,
		BusyUnits:   cfg.Restart.Busy.Units,
		Paused: func(now node.Instant) string {
			return pause.Active(cfg.Directories.State, clock.BootID(), now)
		},
		Timeout:  cfg.LookTimeout.Duration,
		Interval: cfg.Interval.Duration,
	}
	executor := remedy.New(remedy.Dependencies{
		Look: observer.Look, Runtime: runtime, Units: units,
		KubeletUnit: cfg.Kubelet.Unit, RuntimeUnit: cfg.Runtime.Unit,
		RestartCommand: cfg.Kubelet.RestartCommand,
		Policy:         cfg.Restart,
		EvidenceDir:    filepath.Join(cfg.Directories.Log, "acts"),
		// The agent logs each act itself, with its ID.
		Logger: slog.New(slog.DiscardHandler),
	})
	return &wired{observer, executor, runtime, func() {
		units.Close()
		_ = client.Close()
		_ = runtime.Close()
	}}
}

// settings are the kubelet's, before the first look. Nobody may be looking.
func (w *wired) settings() node.Settings {
	_, settings := w.observer.Identity.Identify(context.Background(), node.Unit{})
	return settings
}

// restore puts back manifests that an interrupted act left hidden.
func (w *wired) restore(log *slog.Logger) {
	dir := w.settings().StaticPodPath
	if dir == "" {
		return
	}
	notes, err := remedy.Restore(dir)
	for _, note := range notes {
		log.Warn(note)
	}
	if err != nil {
		log.Error("put back hidden manifests", "error", err)
	}
}
