package logretention

import (
	"errors"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/ending"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/store"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// ask asks the runtime about an attempt that may have ended, and reads conmon's
// files of it: in a crash loop both are removed within a second of the next
// crash. What is final of it already is not asked for.
func (k *Keeper) ask(a *attempt, final *node.Container) {
	if a.asking || a.over {
		return
	}
	a.asking = k.asker.ask(question{id: a.birth.ContainerID, bundle: a.birth.Bundle, record: final})
}

// learn takes an answer, and ends the attempt if that is what it says.
func (k *Keeper) learn(n answer) {
	a := k.attempts[n.id]
	if a == nil {
		return
	}
	a.asking = false
	a.merge(n.files)
	switch {
	case n.err != nil && a.files.Code == nil:
		// Nothing is known: the next look asks again.
		k.Log.Debug("runtime not asked", a.attributes("error", n.err)...)
	case n.err != nil:
		k.conclude(a, nil)
	case n.gone:
		if a.known || a.files.Code != nil || k.unborn(a) {
			k.conclude(a, nil)
		}
	case n.container.State == node.ContainerExited:
		k.conclude(a, n.container)
	case a.files.Code != nil, a.lost:
		k.conclude(a, n.container)
	default:
		a.known = true
	}
	k.answerWaiters(a)
}

// unborn tells whether an attempt that the runtime has never had is not coming.
func (k *Keeper) unborn(a *attempt) bool {
	return a.late || a.superseded || k.Clock.Now().Boot-a.began >= unbornAfter
}

// conclude ends an attempt, now or after the next look: what ends by TERM, by
// KILL, with exit code 0 or without one is judged by its circumstances, and the
// last look may be older than the change of a manifest that brought it about.
func (k *Keeper) conclude(a *attempt, container *node.Container) {
	if a.ended == 0 {
		a.ended = k.Clock.Now().Boot
	}
	fresh := k.snapshot != nil && k.snapshot.Taken.Boot >= a.ended
	if fresh || len(a.waiters) > 0 || !ending.Circumstantial(k.facts(a, container, time.Time{})) {
		k.end(a, container)
		return
	}
	a.over, a.final = true, container
	k.follow(a)
	k.Poke()
}

// end makes the record of an attempt. Container is the runtime's record; nil if
// there is none. An attempt that cannot be recorded stays as it is, and the
// next look tries again.
func (k *Keeper) end(a *attempt, container *node.Container) {
	k.follow(a)
	k.atEnd(a)
	meta := k.meta(a, container)
	entry, err := k.store.Publish(a.live, meta)
	switch {
	case errors.Is(err, store.ErrDropped):
		k.lost++
		k.Log.Warn("no room for a crash record", a.attributes("class", string(meta.Class))...)
	case err != nil:
		k.say(troubleRecord, err)
		return
	default:
		k.say(troubleRecord, nil)
		k.Log.Info("attempt recorded", a.attributes("class", string(entry.Class), "reason", entry.ClassReason,
			"record", entry.Path, "bytes", entry.Bytes(), "gaps", len(entry.Gaps))...)
		k.count(entry)
		if entry.Class.Trouble() {
			k.herald.tell(entry)
			k.Crashed(entry)
		}
	}
	id := a.birth.ContainerID
	delete(k.attempts, id)
	if k.byPath[a.birth.LogPath] == a {
		delete(k.byPath, a.birth.LogPath)
	}
	k.done[id] = struct{}{}
	for _, w := range a.waiters {
		w <- entry.Path
	}
	a.waiters = nil
}

const troubleRecord = "record the end of an attempt"

// meta are the facts of an attempt that has ended.
func (k *Keeper) meta(a *attempt, c *node.Container) record.Meta {
	if c == nil && a.seen.State == node.ContainerExited {
		c = &a.seen // removed since
	}
	m := record.Meta{Attempt: a.birth.Attempt, BootID: a.birth.BootID, Acts: a.acts, LogPath: a.birth.LogPath}
	if m.Revision == "" && k.snapshot != nil {
		for _, sb := range k.snapshot.Runtime.Of(a.podName()) {
			if sb.ID == a.birth.SandboxID {
				m.Revision = revisionOf(sb)
			}
		}
	}
	var finished time.Time
	if c != nil && c.State == node.ContainerExited && !c.StatusUnknown {
		m.Reason, finished = c.Reason, c.FinishedAt
	}
	if finished.IsZero() {
		finished = a.files.Written
	}
	created, started := a.seen.CreatedAt, a.seen.StartedAt
	if c != nil && !c.CreatedAt.IsZero() {
		created = c.CreatedAt
	}
	if c != nil && !c.StartedAt.IsZero() {
		started = c.StartedAt
	}
	if created.IsZero() {
		created = a.birth.Seen
	}
	m.Created, m.Started, m.Finished = when(created), when(started), when(finished)
	e := ending.Classify(k.facts(a, c, finished))
	m.Class, m.ClassReason, m.ExitKnownFrom = e.Class, e.Reason, e.KnownFrom
	m.ExitCode, m.Signal, m.OOMKilled = e.ExitCode, e.Signal, e.OOMKilled
	return m
}

func (k *Keeper) facts(a *attempt, c *node.Container, finished time.Time) ending.Facts {
	f := ending.Facts{
		Record: c, Exit: a.files.Code, NoExit: a.files.Looked && a.files.Code == nil, OOM: a.files.OOM,
		ProcessLost: a.lost, OtherBoot: a.otherBoot, Fate: fate(k.snapshot, a, finished),
		ShuttingDown: k.snapshot != nil && k.snapshot.Host.ShuttingDown,
	}
	if len(a.acts) > 0 {
		f.Act = a.acts[len(a.acts)-1]
	}
	f.TooSoon = tooSoon(k.snapshot, a, finished)
	return f
}

// when is a time in UTC; nil if unknown.
func when(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
