package controller

import (
	"maps"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/promote"
)

// State is how the controller is.
type State struct {
	// Leading: it has the lease. Known: it has learned who has it.
	Leading, Known bool
	// LastPass is when the last pass that came to its end did so, zero for
	// never; Took is how long it took, and Pass what it counted.
	LastPass time.Time
	Took     time.Duration
	Pass     Counts
}

// State may be called at any time. The caller owns its map.
func (c *Controller) State() State {
	c.countsMu.Lock()
	defer c.countsMu.Unlock()
	out := c.state
	out.Pass.Refused = maps.Clone(out.Pass.Refused)
	return out
}

func (c *Controller) change(change func(*State)) {
	c.countsMu.Lock()
	defer c.countsMu.Unlock()
	change(&c.state)
}

// passed notes a pass that came to its end.
func (c *Controller) passed(began time.Time, before Counts) {
	now, counts := c.o.Now(), c.Counts().since(before)
	c.change(func(s *State) { s.LastPass, s.Took, s.Pass = now, now.Sub(began), counts })
}

// since is what was counted after an earlier count.
func (n Counts) since(before Counts) Counts {
	out := Counts{
		Passes: n.Passes - before.Passes, Seen: n.Seen - before.Seen, Read: n.Read - before.Read,
		Promoted: n.Promoted - before.Promoted, WouldPromote: n.WouldPromote - before.WouldPromote,
		Raced: n.Raced - before.Raced, Failed: n.Failed - before.Failed, Forgotten: n.Forgotten - before.Forgotten,
		Refused: map[promote.Rule]int{},
	}
	for rule, times := range n.Refused {
		if times -= before.Refused[rule]; times > 0 {
			out.Refused[rule] = times
		}
	}
	return out
}
