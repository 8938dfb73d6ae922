package immutable

import (
	"context"
	"errors"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/pace"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/upstream"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/wire"
)

// errAbandoned is for a client that left.
var errAbandoned = errors.New("the client left")

// serveState answers a LIST or a watch-list.
func (g *Guard) serveState(w http.ResponseWriter, r *http.Request, q shape.Query) {
	e, why, ok := g.admit(q)
	if !ok {
		g.pass(w, r, why)
		return
	}
	how, err := g.obtain(r.Context(), e, q)
	g.mu.Lock()
	e.asking--
	if err == nil && e.gone {
		err = context.Canceled
	}
	var now *state
	s := newStream(q)
	if err == nil {
		now = e.state
		if q.Verb == shape.WatchList {
			g.attach(e, s)
			s.joined = true
			if now.object != nil {
				g.send(s, event{what: watch.Added, object: now.object})
			}
			g.send(s, event{what: watch.Bookmark, version: now.version, initialEventsEnd: true})
		}
	}
	g.left(e)
	g.mu.Unlock()
	if q.Verb == shape.WatchList {
		defer g.release()
	}
	if err != nil {
		g.answerError(w, r, q, err)
		return
	}
	g.count.add(how)
	if q.Verb == shape.WatchList {
		defer g.detach(e, s)
		g.hold(w, r, q, e, s, nil)
		return
	}
	var items []*wire.Object
	if now.object != nil {
		items = append(items, now.object)
	}
	body, err := wire.EncodeList(q.Encoding, q.Resource, now.version, items...)
	if err != nil {
		g.answerError(w, r, q, errors.Join(upstream.ErrAnswer, err))
		return
	}
	// The connection's error is the client's to see.
	_ = wire.WriteList(w, r, q.Encoding, body)
}

// serveWatch takes on a plain watch at once, and finds out what its client has
// missed while it is open: a proxy that was restarted has all of them come back
// together, and none may be refused.
func (g *Guard) serveWatch(w http.ResponseWriter, r *http.Request, q shape.Query) {
	e, why, ok := g.admit(q)
	if !ok {
		g.pass(w, r, why)
		return
	}
	defer g.release()
	s := newStream(q)
	s.from, _ = parseVersion(q.ResourceVersion)
	g.mu.Lock()
	if e.gone {
		g.mu.Unlock()
		g.pass(w, r, PassedClosing)
		return
	}
	e.asking--
	g.attach(e, s)
	g.mu.Unlock()
	defer g.detach(e, s)
	g.count.add(ServedWatch)
	catchUp := g.catchUp(e, q, s)
	g.mu.Lock()
	g.tend(e)
	g.mu.Unlock()
	g.hold(w, r, q, e, s, catchUp)
}

// admit finds a place for a request: an entry, which counts it as asking, and a
// stream that release gives back unless it is a LIST.
func (g *Guard) admit(q shape.Query) (*entry, Counter, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if q.Verb != shape.List && g.streams >= g.options.Config.MaxStreams {
		return nil, PassedStreams, false
	}
	e, why, ok := g.entry(q.Key)
	if !ok {
		return nil, why, false
	}
	if q.Verb != shape.List {
		g.streams++
	}
	e.asking++
	return e, 0, true
}

func (g *Guard) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.streams--
}

// obtain waits until the entry's state answers a LIST or a watch-list, and tells
// how it came about. The errors are those of package upstream, errVersions,
// errBytes, errAbandoned, and context.Canceled when the entry was given up.
func (g *Guard) obtain(ctx context.Context, e *entry, q shape.Query) (Counter, error) {
	late := time.NewTimer(g.options.Config.FirstRead.Duration)
	defer late.Stop()
	patience := time.NewTimer(answerPatience)
	defer patience.Stop()
	number, _ := parseVersion(q.ResourceVersion) // 0 for "" and "0"

	g.mu.Lock()
	known := e.state != nil && e.state.number >= number
	// A client that asks for the most recent state gets a LIST of its own as
	// long as that needs no credit; in a storm the open WATCH is as good.
	if known && e.live(time.Now()) && (q.ResourceVersion != "" || !g.lists.Ready()) {
		g.mu.Unlock()
		return ServedLive, nil
	}
	version := q.ResourceVersion
	if version != "" && known {
		version = e.state.version // never to be shown anything older
	}
	r := g.refresh(e, version, pace.First)
	g.mu.Unlock()

	troubled := r.troubled
	for {
		select {
		case <-r.done:
			if r.err != nil {
				return 0, r.err
			}
			g.mu.Lock()
			if e.gone || e.state.number >= number {
				g.mu.Unlock()
				return ServedFresh, nil
			}
			// A LIST for another's sake, of a state before this client's.
			r = g.refresh(e, q.ResourceVersion, pace.First)
			troubled = r.troubled
			g.mu.Unlock()
		case <-troubled:
			troubled = nil
			if how, ok := g.fallBack(e, r, q, number); ok {
				return how, nil
			}
		case <-late.C:
			g.count.add(FirstReadsLate)
			if how, ok := g.fallBack(e, r, q, number); ok {
				return how, nil
			}
		case <-patience.C:
			g.mu.Lock()
			defer g.mu.Unlock()
			if r.trouble != nil {
				return 0, r.trouble
			}
			return 0, context.DeadlineExceeded
		case <-ctx.Done():
			return 0, errAbandoned
		}
	}
}

// fallBack says whether what is known will do while the API server fails or is
// late, its own line at the token bucket included. The LIST goes on, and the
// stream is told what it brings.
func (g *Guard) fallBack(e *entry, r *refresh, q shape.Query, number uint64) (Counter, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-r.done:
		return 0, false // it came in the same moment
	default:
	}
	switch {
	case e.state == nil || e.state.number < number:
		return 0, false
	case e.live(time.Now()):
		return ServedLive, true
	case q.ResourceVersion != "":
		return ServedOlder, true
	case e.state.immutable():
		return ServedStale, true
	}
	return 0, false
}
