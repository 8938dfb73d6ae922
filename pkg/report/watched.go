package report

import (
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/timeline"
)

// stretch is a span of time.
type stretch struct{ from, to time.Time }

// watched is when somebody looked, and when the node was booted.
type watched struct {
	// gaps are when nobody looked, in order.
	gaps []stretch
	// boots are the times of boots after the first one that is known.
	boots []time.Time
	// agents counts agents that began.
	agents int
}

const (
	// smallest is a gap that is worth showing: an update takes less.
	smallest = 30 * time.Second
	// silence is how long a working agent is silent at most, and some more.
	silence = 10 * time.Minute
)

func watchedOf(a axis, lines []timeline.Line) watched {
	var w watched
	last := a.from
	boot, known := "", false
	for _, l := range lines {
		t := a.clip(l.Time)
		if t.Before(last) {
			t = last // the clock was set back
		}
		switch {
		case l.Kind == timeline.Started:
			w.gap(last, t)
			if up := l.Time.Add(-time.Duration(l.UpSeconds) * time.Second); a.has(up) && (!known || l.BootID != boot) {
				w.boots = append(w.boots, up)
			}
			boot, known = l.BootID, true
			if a.has(l.Time) {
				w.agents++
			}
		case t.Sub(last) > silence && !before(a, l):
			w.gap(last, t)
		}
		last = t
	}
	if a.to.Sub(last) > silence || ended(lines) {
		w.gap(last, a.to)
	}
	return w
}

// before tells lines of which only the content counts.
func before(a axis, l timeline.Line) bool { return l.Time.Before(a.from) }

func ended(lines []timeline.Line) bool {
	return len(lines) > 0 && lines[len(lines)-1].Kind == timeline.Ended
}

func (w *watched) gap(from, to time.Time) {
	if to.Sub(from) >= smallest {
		w.gaps = append(w.gaps, stretch{from, to})
	}
}

// seen are the parts of a span in which somebody looked.
func (w *watched) seen(s stretch) []stretch {
	var parts []stretch
	for _, g := range w.gaps {
		if !g.to.After(s.from) || !g.from.Before(s.to) {
			continue
		}
		if s.from.Before(g.from) {
			parts = append(parts, stretch{s.from, g.from})
		}
		s.from = g.to
	}
	if s.from.Before(s.to) {
		parts = append(parts, s)
	}
	return parts
}
