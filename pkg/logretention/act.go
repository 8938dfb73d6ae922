package logretention

import (
	"context"
	"path"
	"slices"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// request asks for the record of a container. The reply has room for one path.
type request struct {
	id    string
	reply chan string
}

// name is an act that a record is to name.
type name struct{ path, act string }

// Record returns the directory, below the record root, of a container's record.
// One that has ended is recorded first; of one that runs it is the directory of
// the live attempt. False means that nothing is known of the container, or that
// the context ended first.
func (k *Keeper) Record(ctx context.Context, containerID string) (path string, ok bool) {
	r := request{containerID, make(chan string, 1)}
	select {
	case k.requests <- r:
	case <-ctx.Done():
		return "", false
	}
	select {
	case path := <-r.reply:
		return path, path != ""
	case <-ctx.Done():
		return "", false
	}
}

// serve answers a request at once, or when the runtime has answered.
func (k *Keeper) serve(r request) {
	if e, ok := k.store.Find(r.id); ok {
		r.reply <- e.Path
		return
	}
	a := k.attempts[r.id]
	if a == nil {
		r.reply <- ""
		return
	}
	// Whoever asks is about to act on it: a process that was gone in the last
	// look has been for long.
	a.lost = a.lost || a.dead
	a.waiters = append(a.waiters, r.reply)
	k.ask(a, nil)
}

// answerWaiters tells those who wait for an attempt's record that it has not
// ended, or that nobody knows.
func (k *Keeper) answerWaiters(a *attempt) {
	for _, w := range a.waiters {
		w <- record.LivePath(a.birth.ContainerID)
	}
	a.waiters = nil
}

// NameAct enters the ID of an act in the record, or live attempt, at a path
// that Record gave. It never blocks; what goes wrong is logged.
func (k *Keeper) NameAct(path, actID string) {
	select {
	case k.names <- name{path, actID}:
	default:
		k.Log.Warn("act not named in its record: too many at once", "record", path, "act", actID)
	}
}

func (k *Keeper) name(n name) {
	at := n.path
	if path.Dir(at) == record.LiveDir {
		id := path.Base(at)
		if a := k.attempts[id]; a != nil {
			a.acts = append(a.acts, n.act)
			return
		}
		if e, ok := k.store.Find(id); ok {
			at = e.Path // recorded meanwhile
		}
	}
	err := k.store.Update(at, func(m *record.Meta) {
		if !slices.Contains(m.Acts, n.act) {
			m.Acts = append(m.Acts, n.act)
		}
	})
	if err != nil {
		k.Log.Warn("act not named in its record", "record", n.path, "act", n.act, "error", err)
	}
}
