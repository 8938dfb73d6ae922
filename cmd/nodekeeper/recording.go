package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/go-systemd/v22/journal"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/lifecycle"
	"github.com/nodekeeper/nodekeeper/pkg/lifecycle/nri"
	"github.com/nodekeeper/nodekeeper/pkg/lifecycle/server"
	"github.com/nodekeeper/nodekeeper/pkg/lifecycle/spool"
	"github.com/nodekeeper/nodekeeper/pkg/logretention"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/node/cri"
)

// drainEvery is how often the hook's spool is looked at: it fills while the
// agent is not there, and while it does not answer in time.
const drainEvery = 10 * time.Second

// recording keeps crash records: the keeper, and the sources of its events.
type recording struct {
	*logretention.Keeper
	listener net.Listener // nil if there is none: see hook
	spool    *spool.Spool
	nri      *nri.Source // nil if it is not wanted
	events   map[lifecycle.Source]*atomic.Int64
	hook     *hooked
	poke     func()
	log      *slog.Logger
}

// newRecording opens the record root, listens for the hook and installs it. A
// part that fails is told in the status and in the log; the rest works without
// it. It may be called again after an error.
func newRecording(cfg config.Configuration, nodeName string, runtime *cri.Client, clock node.Clock, poke func(), crashed func(record.Entry), log *slog.Logger) (*recording, error) {
	keeper, err := logretention.New(logretention.Options{
		Config: cfg.Logs, Root: cfg.Directories.Log, Node: nodeName, Clock: clock,
		Status:  func(ctx context.Context, id string) (node.Container, error) { return askOne(ctx, runtime, id) },
		Journal: journalEntry, Log: log, Poke: poke, Crashed: crashed,
	})
	if err != nil {
		return nil, fmt.Errorf("no crash records are kept: %w", err)
	}
	r := &recording{Keeper: keeper, poke: poke, log: log, spool: spool.New(filepath.Join(cfg.Directories.Run, "spool"), 0)}
	r.events = map[lifecycle.Source]*atomic.Int64{lifecycle.Hook: {}, lifecycle.NRI: {}}
	r.listener, err = listen(filepath.Join(cfg.Directories.Run, filepath.Base(lifecycle.DefaultSocket)))
	r.hook = newHooked(hookOptions(cfg), err, log)
	if cfg.Logs.NRISocket != "" {
		r.nri = nri.New(nri.Options{Socket: cfg.Logs.NRISocket, BootID: clock.BootID(), Handle: r.hear, Log: log})
	}
	return r, nil
}

// run keeps records until the context ends.
func (r *recording) run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() {
		if err := r.Keeper.Run(ctx); err != nil {
			r.log.Error("no crash records are kept any more", "error", err)
		}
	})
	all.Go(func() { r.drain(ctx) })
	if r.listener != nil {
		all.Go(func() {
			if err := server.Serve(ctx, r.listener, r.hear, r.log); err != nil {
				r.log.Error("the hook's events are taken from its spool only", "error", err)
			}
		})
	}
	if r.nri != nil {
		all.Go(func() { r.nri.Run(ctx) })
	}
	all.Wait()
}

// hear passes a hint on: to the keeper, and to the agent, which looks sooner.
func (r *recording) hear(e lifecycle.Event) {
	r.Event(e)
	if n := r.events[e.Source]; n != nil {
		n.Add(1)
	}
	r.poke()
}

func (r *recording) drain(ctx context.Context) {
	tick := time.NewTicker(drainEvery)
	defer tick.Stop()
	for {
		r.hook.look()
		if n, err := r.spool.Drain(r.hear); err != nil {
			r.log.Debug("the hook's spool", "events", n, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// State is for the status.
func (r *recording) State() status.Records {
	is := r.Status()
	out := status.Records{
		Records: is.Records, Live: is.Live, Bytes: is.Bytes, LimitBytes: is.LimitBytes,
		Evicted: is.Evicted, Evictions: byName(is.Evictions), Crashes: byName(is.Crashes), Gaps: is.Gaps, Lost: is.Lost, Error: is.Err,
		DroppedEvents: is.DroppedEvents, Events: map[string]int64{},
		Sources: map[string]string{"hook": r.hook.state()},
	}
	for source, n := range r.events {
		out.Events[string(source)] = n.Load()
	}
	var err error
	if out.Spool, out.SpoolDropped, err = r.spool.Waiting(); err != nil {
		r.log.Debug("the hook's spool", "error", err)
	}
	for name, state := range is.Sources {
		out.Sources[name] = state
	}
	if r.nri != nil {
		connected, runtime, version, err := r.nri.State()
		out.Sources["nri"] = cmp.Or(text(err), "not connected")
		if connected {
			out.Sources["nri"] = working
			r.log.Debug("NRI", "runtime", runtime, "version", version)
		}
	}
	return out
}

func byName[K ~string](counts map[K]int) map[string]int {
	out := map[string]int{}
	for name, n := range counts {
		out[string(name)] = n
	}
	return out
}

// working is the state of a source that works.
const working = "ok"

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// listen takes systemd's socket, or opens one.
func listen(path string) (net.Listener, error) {
	if l, err := server.Activated(); l != nil || err != nil {
		return l, err
	}
	return server.Listen(path)
}

// askOne asks the runtime for one container.
func askOne(ctx context.Context, runtime *cri.Client, id string) (node.Container, error) {
	s, err := runtime.Status(ctx, id)
	if cri.NotFound(err) {
		return node.Container{}, fmt.Errorf("%w: %w", logretention.ErrNoRecord, err)
	}
	if err != nil {
		return node.Container{}, err
	}
	return node.Container{
		ID: id, State: s.State, StartedAt: s.StartedAt, FinishedAt: s.FinishedAt,
		ExitCode: s.ExitCode, Reason: s.Reason, LogPath: s.LogPath,
	}, nil
}

func journalEntry(fields map[string]string, message string, priority int) error {
	if !journal.Enabled() {
		return errors.New("there is no journal")
	}
	return journal.Send(message, journal.Priority(priority), fields)
}
