package nri_test

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/lifecycle"
	"github.com/nodekeeper/nodekeeper/pkg/lifecycle/nri"
)

// running is a Source under test.
type running struct {
	*nri.Source
	socket string
	events chan lifecycle.Event
	// pauses has each pause that the Source asked for; a send on resume ends it.
	pauses chan time.Duration
	resume chan time.Time
	log    *journal
	// stop ends the Source and waits for it.
	stop func()
}

// bound is the longest that a busy machine may take over what is to happen at
// once.
const bound = time.Minute

// noon is the time of all events.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// start runs a Source at a socket that is not there yet. The test fails if
// anything of it is left at the end.
func start(t *testing.T, change ...func(*settings)) *running {
	t.Helper()
	r := &running{
		socket: filepath.Join(t.TempDir(), "nri.sock"),
		events: make(chan lifecycle.Event, 64),
		pauses: make(chan time.Duration),
		resume: make(chan time.Time),
		log:    &journal{},
	}
	ctx, cancel := context.WithCancel(context.Background())
	set := settings{
		patience: bound,
		length:   64,
		handle:   func(e lifecycle.Event) { r.events <- e },
		now:      func() time.Time { return noon },
	}
	for _, c := range change {
		c(&set)
	}
	r.Source = nri.NewImpatient(nri.Options{
		Socket: r.socket,
		BootID: "boot",
		Handle: set.handle,
		Log:    slog.New(slog.NewTextHandler(r.log, nil)),
		Now:    set.now,
		After: func(d time.Duration) <-chan time.Time {
			select {
			case r.pauses <- d:
			case <-ctx.Done():
			}
			return r.resume
		},
	}, set.patience, set.length)
	// Registered before the runtime's undo, so that this looks last.
	t.Cleanup(func() { nothingLeft(t) })
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.Run(ctx)
	}()
	r.stop = func() {
		cancel()
		select {
		case <-ended:
		case <-time.After(bound):
			t.Errorf("Run did not end with its context\n%s", stacks())
		}
	}
	t.Cleanup(r.stop)
	return r
}

type settings struct {
	patience time.Duration
	length   int
	handle   func(lifecycle.Event)
	now      func() time.Time
}

// paused waits until the Source pauses and says for how long.
func (r *running) paused(t *testing.T) time.Duration {
	t.Helper()
	select {
	case d := <-r.pauses:
		return d
	case <-time.After(bound):
		t.Fatal("the Source did not pause")
		return 0
	}
}

// again ends a pause.
func (r *running) again(t *testing.T) {
	t.Helper()
	select {
	case r.resume <- noon:
	case <-time.After(bound):
		t.Fatal("the Source did not wait for the end of its pause")
	}
}

// probe is a container whose events say that the runtime sends them.
const probe = "probe"

// next waits for an event of another container than the probe.
func (r *running) next(t *testing.T) lifecycle.Event {
	t.Helper()
	end := time.After(bound)
	for {
		select {
		case e := <-r.events:
			if e.ContainerID != probe {
				return e
			}
		case <-end:
			t.Fatal("no event")
		}
	}
}

// connected waits until events can come.
func (r *running) connected(t *testing.T) {
	t.Helper()
	eventually(t, "the Source is connected", func() bool {
		is, _, _, _ := r.State()
		return is
	})
}

// eventually tries until it holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	end := time.NewTimer(bound)
	defer end.Stop()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for !holds() {
		select {
		case <-again.C:
		case <-end.C:
			t.Fatalf("never: %s", what)
		}
	}
}

// nothingLeft fails the test if a goroutine of either side lives on.
func nothingLeft(t *testing.T) {
	t.Helper()
	eventually(t, "no goroutine of NRI is left", func() bool {
		all := stacks()
		left := strings.Contains(all, "containerd/nri/") || strings.Contains(all, "containerd/ttrpc.")
		if left && t.Failed() {
			t.Log(all)
		}
		return !left
	})
}

func stacks() string {
	buf := make([]byte, 1<<20)
	return string(buf[:runtime.Stack(buf, true)])
}

// journal is a log that tests may read while it is written.
type journal struct {
	lock sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.lock.Lock()
	defer j.lock.Unlock()
	return j.text.Write(p)
}

func (j *journal) count(what string) int {
	j.lock.Lock()
	defer j.lock.Unlock()
	return strings.Count(j.text.String(), what)
}
