package immutable

import (
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

// question marks a refresh as sent, and says what to ask for it.
func (g *Guard) question(e *entry, r *refresh) question {
	g.mu.Lock()
	defer g.mu.Unlock()
	r.sent = true
	q := question{version: r.version, floor: r.number, at: time.Now()}
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
