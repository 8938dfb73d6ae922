package immutable

import (
	"context"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
)

// fence is a version that was the most recent one of a resource at some moment,
// or later: the answer of a consistent LIST that was sent then. Whoever wanted
// the most recent state before that moment is answered as truly by a state that
// is not older than the fence, and the API server need not ask etcd again: it
// compares with its watch cache what it would else compare with etcd's revision
// (apiserver pkg/storage/cacher/cacher.go, v1.37). In a storm, all but the first
// LISTs come after such an answer.
type fence struct {
	at      time.Time
	version string
	number  uint64
}

// fence keeps the answer of a consistent LIST that was sent at a moment. Called
// with mu held.
func (g *Guard) fence(resource shape.Resource, version string, at time.Time) {
	number, err := parseVersion(version)
	if err == nil && at.After(g.fences[resource].at) {
		g.fences[resource] = fence{at: at, version: version, number: number}
	}
}

// question is what a LIST asks for.
type question struct {
	version, match string
	// floor is what the answer may not be older than.
	floor uint64
	at    time.Time
}

// question waits until a refresh may be sent, marks it as sent, and says what to
// ask for it. Not more than consistentInFlight ask etcd at once: one of their
// answers is a fence for whoever waits here. The error is the context's.
func (g *Guard) question(ctx context.Context, e *entry, r *refresh) (question, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	resource := e.key.Resource
	q := g.wording(e, r)
	for q.version == "" && g.consistent[resource] >= consistentInFlight {
		moved := g.moved
		g.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
		}
		g.mu.Lock()
		if err := ctx.Err(); err != nil {
			return q, err
		}
		q = g.wording(e, r)
	}
	if q.version == "" {
		g.consistent[resource]++
	}
	r.sent, q.at = true, time.Now()
	return q, nil
}

// answered notes that a question has got its answer, or none. Called with mu
// held.
func (g *Guard) answered(resource shape.Resource, q question) {
	if q.version == "" {
		g.consistent[resource]--
		close(g.moved)
		g.moved = make(chan struct{})
	}
}

// wording is what would be asked now. Called with mu held.
func (g *Guard) wording(e *entry, r *refresh) question {
	q := question{version: r.version, floor: r.number}
	if r.version == "" {
		f := g.fences[e.key.Resource]
		if f.at.After(r.wantedAt) {
			q.version, q.floor = f.version, f.number
		}
		if e.state != nil && e.state.number > q.floor {
			q.floor = e.state.number
			if q.version != "" {
				q.version = e.state.version
			}
		}
	}
	if q.floor > 0 && q.version != "" {
		q.match = shape.NotOlderThan
	}
	return q
}
