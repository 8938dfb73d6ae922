package main

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// openEvery is the time between two tries to open the record root.
const openEvery = 30 * time.Second

// keeping is the recording once its root can be opened. That fails while a disk
// is not mounted, or another process has the root locked, and neither is for
// good.
type keeping struct {
	open    func() (*recording, error)
	log     *slog.Logger
	opened  atomic.Pointer[recording]
	failure atomic.Pointer[string]
}

// try opens the root; what keeps it from being opened is logged once.
func (k *keeping) try() bool {
	r, err := k.open()
	if err == nil {
		k.opened.Store(r)
		return true
	}
	text := err.Error()
	if was := k.failure.Swap(&text); was == nil || *was != text {
		k.log.Error(text)
	}
	return false
}

// run keeps records until the context ends.
func (k *keeping) run(ctx context.Context) {
	for k.opened.Load() == nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(openEvery):
		}
		if k.try() {
			k.log.Info("crash records are kept")
		}
	}
	k.opened.Load().run(ctx)
}

// Observe passes on what a look saw.
func (k *keeping) Observe(s *node.Snapshot) {
	if r := k.opened.Load(); r != nil {
		r.Observe(s)
	}
}

// Record is the record of a container.
func (k *keeping) Record(ctx context.Context, containerID string) (path string, ok bool) {
	if r := k.opened.Load(); r != nil {
		return r.Record(ctx, containerID)
	}
	return "", false
}

// NameAct enters an act in a record.
func (k *keeping) NameAct(path, actID string) {
	if r := k.opened.Load(); r != nil {
		r.NameAct(path, actID)
	}
}

// State is for the status.
func (k *keeping) State() status.Records {
	if r := k.opened.Load(); r != nil {
		return r.State()
	}
	if text := k.failure.Load(); text != nil {
		return status.Records{Error: *text}
	}
	return status.Records{}
}
