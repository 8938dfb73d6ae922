package controller

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/promote"
)

// Counts is what has been done since the controller began.
type Counts struct {
	Passes int
	// Seen counts objects whose metadata was judged, Read those whose content was.
	Seen, Read int
	// Promoted were marked; WouldPromote would have been, but for the dry run.
	Promoted, WouldPromote int
	// Raced had changed, or gone, between the look and the patch; Failed were
	// refused by the API server for another reason.
	Raced, Failed int
	// Forgotten had no room in the history.
	Forgotten int
	// Refused counts verdicts by rule.
	Refused map[promote.Rule]int
}

// Counts returns a copy.
func (c *Controller) Counts() Counts {
	c.countsMu.Lock()
	defer c.countsMu.Unlock()
	out := c.counts
	out.Refused = maps.Clone(out.Refused)
	return out
}

func (c *Controller) count(change func(*Counts)) {
	c.countsMu.Lock()
	defer c.countsMu.Unlock()
	change(&c.counts)
}

func (c *Controller) refused(rule promote.Rule) {
	c.count(func(n *Counts) {
		if n.Refused == nil {
			n.Refused = map[promote.Rule]int{}
		}
		n.Refused[rule]++
	})
}

// LogValue is one line.
func (n Counts) LogValue() slog.Value {
	var refused []string
	for _, rule := range slices.Sorted(maps.Keys(n.Refused)) {
		refused = append(refused, fmt.Sprint(rule, "=", n.Refused[rule]))
	}
	return slog.GroupValue(
		slog.Int("passes", n.Passes), slog.Int("seen", n.Seen), slog.Int("read", n.Read),
		slog.Int("promoted", n.Promoted), slog.Int("wouldPromote", n.WouldPromote),
		slog.Int("raced", n.Raced), slog.Int("failed", n.Failed), slog.Int("forgotten", n.Forgotten),
		slog.String("refused", strings.Join(refused, " ")),
	)
}
