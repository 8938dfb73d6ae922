package immutable

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/pace"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/upstream"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/wire"
)

// errExpired is the API server's 410: the version is too old to resume from.
var errExpired = errors.New("the resourceVersion has expired")

// watching is the one WATCH upstream of an entry, with its renewals.
type watching struct {
	cancel context.CancelFunc
	// open is set while the API server has it, heardAt is when it last spoke.
	open    bool
	heardAt time.Time
}

// heard notes that the API server has vouched for the state.
func (e *entry) heard() { e.checkedAt = time.Now() }

// watch begins to watch. Called with mu held, as unwatch.
func (g *Guard) watch(e *entry) {
	if e.watching != nil || g.closing {
		return
	}
	ctx, cancel := context.WithCancel(g.ctx)
	w := &watching{cancel: cancel}
	e.watching = w
	g.spawn(func(context.Context) { g.keepWatching(ctx, e, w) })
}

func (g *Guard) unwatch(e *entry) {
	if e.watching != nil {
		e.watching.cancel()
		e.watching = nil
	}
}

// keepWatching opens the WATCH, and opens it again from where it ended, until
// ctx ends.
func (g *Guard) keepWatching(ctx context.Context, e *entry, w *watching) {
	defer w.cancel()
	pause := rewatchFirst
	for {
		release, err := g.watches.Take(ctx, pace.Soon)
		if err != nil {
			return
		}
		release()
		began := time.Now()
		err = g.watchOnce(ctx, e, w)
		if ctx.Err() != nil {
			return
		}
		lasted := time.Since(began) >= rewatchMost
		if lasted {
			pause = rewatchFirst
		}
		if errors.Is(err, errExpired) {
			g.count.add(Expired)
			g.relist(ctx, e)
		} else if !errors.Is(err, io.EOF) {
			g.count.add(WatchFailures)
			g.options.Log.Debug("watch ended", "key", e.key.String(), "error", err)
		}
		if lasted && errors.Is(err, io.EOF) {
			continue // its time was up; the bucket spaces the next
		}
		delay := time.Duration((1 + g.options.Rand()) * float64(pause))
		var refusal *upstream.Refusal
		if errors.As(err, &refusal) {
			delay = max(delay, min(refusal.Wait(), rewatchMost))
			if refusal.Code == http.StatusForbidden {
				g.forgetUnused(e)
			}
		}
		pause = min(2*pause, rewatchMost)
		if !wait(ctx, delay) {
			return
		}
	}
}

// forgetUnused drops what the node may no longer read, as its last pod has gone.
func (g *Guard) forgetUnused(e *entry) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !e.used() {
		g.forget(e)
	}
}

// relist catches up by a LIST where the API server cannot tell what happened.
func (g *Guard) relist(ctx context.Context, e *entry) {
	g.mu.Lock()
	if e.gone {
		g.mu.Unlock()
		return
	}
	r := g.refresh(e, e.state.version, pace.Soon)
	g.mu.Unlock()
	select {
	case <-r.done:
	case <-ctx.Done():
	}
}

// watchOnce is one WATCH from the present version to its end.
func (g *Guard) watchOnce(ctx context.Context, e *entry, w *watching) error {
	g.mu.Lock()
	if e.watching != w {
		g.mu.Unlock()
		return context.Canceled
	}
	version := e.state.version
	g.mu.Unlock()
	g.count.add(Watches)
	events, err := g.options.Upstream.Watch(ctx, e.key, version)
	if err != nil {
		var refusal *upstream.Refusal
		if errors.As(err, &refusal) && refusal.Code == http.StatusGone {
			return errExpired
		}
		return err
	}
	defer events.Close()
	g.count.add(WatchesAccepted)
	g.setOpen(w, true)
	defer g.setOpen(w, false)
	// A connection that is dead without having said so says nothing at all.
	mute := time.AfterFunc(2*silence, events.Close)
	defer mute.Stop()
	for {
		told, err := events.Next()
		if err != nil {
			return err
		}
		mute.Reset(2 * silence)
		if err := g.take(e, w, told); err != nil {
			return err
		}
	}
}

func (g *Guard) setOpen(w *watching, open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w.open, w.heardAt = open, time.Now()
}

// take moves the entry on by one event of its WATCH.
func (g *Guard) take(e *entry, w *watching, told wire.Event) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if e.watching != w {
		return context.Canceled
	}
	if told.Type == watch.Error {
		if told.Status != nil && told.Status.Code == http.StatusGone {
			return errExpired
		}
		return errors.New("the API server sent an error")
	}
	w.heardAt = time.Now()
	e.heard()
	number, err := parseVersion(told.ResourceVersion)
	if err == nil && number > e.state.number {
		err = g.takeNew(e, told, number)
	}
	if err != nil {
		// What follows could not be trusted. The streams end, and their clients
		// ask anew.
		g.forget(e)
	}
	return err
}

func (g *Guard) takeNew(e *entry, told wire.Event, number uint64) error {
	switch told.Type {
	case watch.Bookmark:
		next := *e.state
		next.version, next.number = told.ResourceVersion, number
		e.state = &next
		g.count.add(Bookmarks)
		g.tell(e, event{what: watch.Bookmark, version: told.ResourceVersion})
		return nil
	case watch.Added, watch.Modified:
		next, err := newState(told.ResourceVersion, told.Object)
		if err == nil {
			err = g.advance(e, next, nil)
		}
		if err != nil {
			return err
		}
	case watch.Deleted:
		next := &state{version: told.ResourceVersion, number: number, since: number}
		if err := g.advance(e, next, told.Object); err != nil {
			return err
		}
	default:
		return nil // nothing that a reflector knows
	}
	for s := range e.streams {
		g.join(e, s)
	}
	g.hint(e)
	g.tend(e)
	return nil
}
