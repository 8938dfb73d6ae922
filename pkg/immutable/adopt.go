package immutable

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/upstream"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/wire"
)

// errBytes is for an object that would take the guard past maxBytes.
var errBytes = errors.New("no room for the object")

// adopt takes in the answer of a LIST, which has to be at least as new as floor,
// and tells the streams what it changes. Called with mu held.
func (g *Guard) adopt(e *entry, version string, object *wire.Object, floor uint64) error {
	if e.gone {
		return context.Canceled
	}
	next, err := newState(version, object)
	if err != nil {
		return err
	}
	if next.number < floor {
		g.count.add(WentBack)
		return errVersions
	}
	switch {
	case e.state == nil:
		if err := g.store(e, next); err != nil {
			return err
		}
	case next.number < e.state.number:
		// The WATCH, or another LIST, has gone on in the meantime. That the
		// state was heard of is all there is to learn.
	default:
		old := e.state.number
		if err := g.advance(e, next, nil); err != nil {
			return err
		}
		if next.number > old {
			g.tell(e, event{what: watch.Bookmark, version: version})
		}
	}
	e.heard()
	for s := range e.streams {
		g.join(e, s)
	}
	return nil
}

// advance moves an entry to its next state. gone is the deleted object as the
// API server told it, if it did.
func (g *Guard) advance(e *entry, next *state, gone *wire.Object) error {
	old := e.state
	events, err := follow(old, next)
	if err != nil {
		g.count.add(WentBack)
		return err
	}
	switch {
	case gone != nil && len(events) == 1:
		events[0].object = gone
	case len(events) == 2:
		g.count.add(Recreated)
	case old.missing() && next.missing():
		next.since = old.since
	}
	if err := g.store(e, next); err != nil {
		return err
	}
	if len(events) > 0 {
		e.checks = len(familyChecks)
		g.tell(e, events...)
	}
	return nil
}

// store keeps a state within the bounds.
func (g *Guard) store(e *entry, next *state) error {
	if next.size() > g.maxObjectBytes {
		return upstream.ErrTooLarge
	}
	e.asking++ // not to be evicted itself
	for g.bytes-e.state.size()+next.size() > g.maxBytes && g.evict() {
	}
	e.asking--
	if g.bytes-e.state.size()+next.size() > g.maxBytes {
		return errBytes
	}
	g.bytes += next.size() - e.state.size()
	e.state = next
	return nil
}
