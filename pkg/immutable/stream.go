package immutable

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/pace"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/wire"
)

const (
	// streamQueue is how many events a client may be behind.
	streamQueue = 64
	// streamMin and as much again at random is how long a stream lasts that
	// asked for no time: apiserver --min-request-timeout.
	streamMin = 30 * time.Minute
)

// stream is a local watch or watch-list. Guard.mu guards it.
type stream struct {
	// from is the version that the client of a plain watch has; joined is set
	// once the stream follows its entry's state.
	from      uint64
	joined    bool
	bookmarks bool

	queue []event
	ended bool
	// wake has room for one, so that whoever tells never waits.
	wake chan struct{}
}

func newStream(q shape.Query) *stream {
	return &stream{bookmarks: q.AllowBookmarks, wake: make(chan struct{}, 1)}
}

// end closes the stream after what is queued. Called with mu held.
func (s *stream) end() {
	s.ended = true
	s.rouse()
}

func (s *stream) rouse() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// tell queues events for the streams that follow the entry.
func (g *Guard) tell(e *entry, events ...event) {
	for s := range e.streams {
		if s.joined {
			g.send(s, events...)
		}
	}
}

func (g *Guard) send(s *stream, events ...event) {
	for _, ev := range events {
		if s.ended {
			return
		}
		if ev.object == nil && ev.what == watch.Bookmark {
			if !s.bookmarks && !ev.initialEventsEnd {
				continue
			}
			if n := len(s.queue); n > 0 && s.queue[n-1].what == watch.Bookmark && !s.queue[n-1].initialEventsEnd {
				s.queue[n-1] = ev // only the last one counts
				continue
			}
		}
		if len(s.queue) >= streamQueue {
			// It will ask again from where it is.
			g.count.add(SlowStreams)
			s.end()
			return
		}
		s.queue = append(s.queue, ev)
	}
	s.rouse()
}

// join lets a plain watch follow its entry, once the entry's state is as new as
// what its client has. Where the state does not tell what happened since, the
// client is told to ask anew, which only a plain watch may be.
func (g *Guard) join(e *entry, s *stream) {
	if s.joined || s.ended || e.state == nil || e.state.number < s.from {
		return
	}
	s.joined = true
	switch {
	case e.state.since <= s.from:
	case e.state.object != nil:
		g.send(s, event{what: watch.Modified, object: e.state.object})
	default:
		// It is gone, and what it was when the client last saw it is not known.
		g.count.add(ExpiredLocal)
		g.send(s, event{what: watch.Error})
		s.end()
		return
	}
	if e.state.number > s.from {
		g.send(s, event{what: watch.Bookmark, version: e.state.version})
	}
}

// catchUp has the entry brought to what a plain watch's client has; nil if it is.
func (g *Guard) catchUp(e *entry, q shape.Query, s *stream) *refresh {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.join(e, s)
	if s.joined || s.ended {
		return nil
	}
	return g.refresh(e, q.ResourceVersion, pace.Soon)
}

// attach makes a stream one of the entry's. Called with mu held.
func (g *Guard) attach(e *entry, s *stream) {
	if len(e.streams) == 0 {
		e.followedAt = time.Now()
	}
	e.streams[s] = struct{}{}
}

func (g *Guard) detach(e *entry, s *stream) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(e.streams, s)
	g.left(e)
}

// left notes that a stream or a request has gone. Called with mu held.
func (g *Guard) left(e *entry) {
	if !e.used() {
		e.usedAt = time.Now()
	}
	g.tend(e)
}

// hold writes a stream to its client until it ends, the client leaves or its
// time is up. It always ends cleanly. catchUp, if not nil, is what a plain watch
// still waits for; its failure is told and ends the stream.
func (g *Guard) hold(w http.ResponseWriter, r *http.Request, q shape.Query, e *entry, s *stream, catchUp *refresh) {
	w.Header().Set("Cache-Control", "no-cache, private")
	w.Header().Set("Content-Type", q.Encoding.StreamContentType())
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	if out.Flush() != nil {
		return
	}
	timeout := q.Timeout
	if timeout == 0 {
		timeout = streamMin + time.Duration(g.options.Rand()*float64(streamMin))
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		var caughtUp <-chan struct{}
		if catchUp != nil {
			caughtUp = catchUp.done
		}
		events, ended := g.drain(s)
		for _, ev := range events {
			frame, err := encode(q, ev)
			if err != nil {
				g.options.Log.Error("event not written", "key", q.Key.String(), "error", err)
				return
			}
			if _, err := w.Write(frame); err != nil {
				return
			}
		}
		if len(events) > 0 && out.Flush() != nil {
			return
		}
		if ended {
			return
		}
		select {
		case <-s.wake:
		case <-caughtUp:
			if errors.Is(catchUp.err, context.Canceled) {
				catchUp = nil // the entry was given up, and the stream with it
				continue
			}
			if catchUp.err != nil {
				if frame, err := wire.EncodeErrorEvent(q.Encoding, refusalStatus(q, catchUp.err)); err == nil {
					_, _ = w.Write(frame)
				}
				return
			}
			catchUp = g.catchUp(e, q, s)
		case <-timer.C:
			return
		case <-r.Context().Done():
			return
		}
	}
}

func (g *Guard) drain(s *stream) ([]event, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	events := s.queue
	s.queue = nil
	return events, s.ended
}

func encode(q shape.Query, ev event) ([]byte, error) {
	switch ev.what {
	case watch.Bookmark:
		return wire.EncodeBookmark(q.Encoding, q.Resource, ev.version, ev.initialEventsEnd)
	case watch.Error:
		return wire.EncodeErrorEvent(q.Encoding, expired(q))
	}
	return wire.EncodeEvent(q.Encoding, q.Resource, ev.what, ev.object)
}

// expired is what an API server says of a version that it no longer has:
// apiserver pkg/storage/etcd3/errors.go, v1.37.
func expired(q shape.Query) *metav1.Status {
	return &metav1.Status{
		Status:  metav1.StatusFailure,
		Message: fmt.Sprintf("too old resource version: %s", q.ResourceVersion),
		Reason:  metav1.StatusReasonExpired,
		Code:    http.StatusGone,
	}
}
