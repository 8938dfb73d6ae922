package immutable

import "time"

// familyChecks is when, after a change of its sentinel, a member is checked: a
// publisher changes the members one by one and may take minutes. A member that
// was seen to change is not checked again.
var familyChecks = [...]time.Duration{time.Second, 30 * time.Second, 5 * time.Minute}

// joinFamily counts an entry into its family while it is an ordinary member. One
// that is missing is watched for its appearance like any other, and one that is
// immutable needs no sentinel.
func (g *Guard) joinFamily(e *entry) {
	if !g.families.Covers(e.key) {
		return
	}
	if e.state == nil || e.state.missing() || e.state.immutable() {
		g.leaveFamily(e)
		return
	}
	if len(e.streams) > 0 {
		g.families.Join(e.key)
	}
}

// leaveFamily hands the watch on if the entry was the sentinel. The heir's
// members have to be checked: nobody watched in between.
func (g *Guard) leaveFamily(e *entry) {
	heir, ok := g.families.Leave(e.key)
	if !ok {
		return
	}
	next := g.entries[heir]
	if next == nil {
		return
	}
	g.hint(next)
	g.tend(next)
}

// hint has the other members of a family checked after its sentinel changed.
func (g *Guard) hint(e *entry) {
	if !g.families.Sentinel(e.key) {
		return
	}
	g.count.add(Hints)
	for _, key := range g.families.Others(e.key) {
		if other := g.entries[key]; other != nil {
			other.hintedAt, other.checks = time.Now(), 0
			g.tend(other)
		}
	}
}

// familyCheck is when a member is to be checked next. The sentinel itself is
// watched, or about to be.
func (g *Guard) familyCheck(e *entry) (time.Time, bool) {
	if !g.families.Member(e.key) || g.families.Sentinel(e.key) {
		return time.Time{}, false
	}
	at := e.checkedAt.Add(spread(g.options.Config.Revalidate.Duration, e.spread))
	if !e.hintedAt.IsZero() && e.checks < len(familyChecks) {
		if hinted := e.hintedAt.Add(spread(familyChecks[e.checks], e.spread)); hinted.Before(at) {
			at = hinted
		}
	}
	return at, true
}
