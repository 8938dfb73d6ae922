package immutable

import (
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/pace"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
)

// entry is what the guard knows of one key. Guard.mu guards all of it.
type entry struct {
	key shape.Key
	// gone is set when the entry is no longer in the guard's map.
	gone bool
	// state is nil until the first LIST has been answered.
	state *state
	// streams follow the state; asking counts the requests that wait for one.
	streams map[*stream]struct{}
	asking  int
	// usedAt is when the last stream or request left; followedAt when the first
	// of the present streams came.
	usedAt, followedAt time.Time
	// checkedAt is when the state was last heard of from the API server, by
	// LIST, event or bookmark.
	checkedAt time.Time

	refreshes []*refresh
	watching  *watching

	// hintedAt is when the family's sentinel last changed, and checks how many
	// checks have followed it.
	hintedAt time.Time
	checks   int
	// spread is this entry's share of jitter, 0 to 1.
	spread float64

	timer *time.Timer
}

// entry returns the key's entry, made if need be, or the bound that is reached.
// Called with mu held.
func (g *Guard) entry(key shape.Key) (*entry, Counter, bool) {
	if g.closing {
		return nil, PassedClosing, false
	}
	if e := g.entries[key]; e != nil {
		return e, 0, true
	}
	if len(g.entries) >= g.options.Config.MaxObjects && !g.evict() {
		return nil, PassedObjects, false
	}
	e := &entry{
		key:     key,
		streams: map[*stream]struct{}{},
		usedAt:  time.Now(),
		spread:  g.options.Rand(),
	}
	g.entries[key] = e
	return e, 0, true
}

// evict forgets the entry that has been without a user the longest.
func (g *Guard) evict() bool {
	var oldest *entry
	for _, e := range g.entries {
		if !e.used() && (oldest == nil || e.usedAt.Before(oldest.usedAt)) {
			oldest = e
		}
	}
	if oldest == nil {
		return false
	}
	g.count.add(Evicted)
	g.forget(oldest)
	return true
}

// forget drops an entry and ends what belongs to it. Its streams end cleanly:
// their clients come again.
func (g *Guard) forget(e *entry) {
	if e.gone {
		return
	}
	e.gone = true
	delete(g.entries, e.key)
	g.bytes -= e.state.size()
	e.state = nil
	if e.timer != nil {
		e.timer.Stop()
	}
	for s := range e.streams {
		s.end()
	}
	for _, r := range e.refreshes {
		r.cancel()
	}
	g.unwatch(e)
	g.leaveFamily(e)
}

func (e *entry) used() bool { return len(e.streams) > 0 || e.asking > 0 }

// live says whether an open WATCH vouches for the state.
func (e *entry) live(now time.Time) bool {
	return e.state != nil && e.watching != nil && e.watching.open && now.Sub(e.watching.heardAt) < silence
}

// tend does what is due for an entry, and sets its timer for the next. It is
// called, with mu held, after whatever changed the entry.
func (g *Guard) tend(e *entry) {
	if e.gone || g.closing {
		return
	}
	now := time.Now()
	if !e.used() && now.Sub(e.usedAt) >= g.options.Config.Linger.Duration {
		g.forget(e)
		return
	}
	g.joinFamily(e)
	due := []time.Time{}
	if !e.used() {
		due = append(due, e.usedAt.Add(g.options.Config.Linger.Duration))
	}
	switch at, wanted := g.watchFrom(e); {
	case !wanted:
		g.unwatch(e)
	case !now.Before(at):
		g.watch(e)
	default:
		due = append(due, at)
	}
	if at, ok := g.checkFrom(e); ok {
		if !now.Before(at) {
			e.checks++
			e.checkedAt = now // the next is due a period after this one was asked for
			g.refresh(e, e.state.version, pace.Background)
			at, ok = g.checkFrom(e)
		}
		if ok {
			due = append(due, at)
		}
	}
	e.setTimer(g, now, due)
}

func (e *entry) setTimer(g *Guard, now time.Time, due []time.Time) {
	if len(due) == 0 {
		if e.timer != nil {
			e.timer.Stop()
		}
		return
	}
	next := due[0]
	for _, at := range due[1:] {
		if at.Before(next) {
			next = at
		}
	}
	d := max(next.Sub(now), time.Millisecond)
	if e.timer != nil {
		e.timer.Reset(d)
		return
	}
	e.timer = time.AfterFunc(d, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.tend(e)
	})
}

// watchFrom says whether the entry is to be watched, and from when on. A WATCH
// that there is stays through the linger; none is begun for nobody.
func (g *Guard) watchFrom(e *entry) (time.Time, bool) {
	switch {
	case e.state == nil:
		return time.Time{}, e.watching != nil
	case e.state.immutable():
		return time.Time{}, false
	case g.families.Member(e.key) && !g.families.Sentinel(e.key):
		return time.Time{}, false
	case e.watching != nil:
		return time.Time{}, true
	case len(e.streams) == 0:
		return time.Time{}, false
	case e.state.missing():
		// A pod waits for it to appear.
		return time.Time{}, true
	}
	return e.followedAt.Add(g.options.Config.Grace.Duration), true
}

// checkFrom says when the state of an entry that is followed but not watched is
// to be checked by a LIST.
func (g *Guard) checkFrom(e *entry) (time.Time, bool) {
	if len(e.streams) == 0 || e.state == nil || e.watching != nil {
		return time.Time{}, false
	}
	if e.state.immutable() {
		return e.checkedAt.Add(spread(immutableCheck, e.spread)), true
	}
	return g.familyCheck(e)
}

// spread lengthens a period by up to a fifth, so that what began together does
// not go on together.
func spread(d time.Duration, share float64) time.Duration {
	return d + time.Duration(float64(d)/5*share)
}
