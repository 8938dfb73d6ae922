package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/timeline"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// Lane is one pod over time, or one service of the node.
type Lane struct {
	Namespace, Name string
	// Short is the name without the node's.
	Short string
	// Service is set for a service: Name is its unit.
	Service bool
	// Looks are the worst of its containers at each time.
	Bands []Band
	// Marks are drawn above the bands, Spans are both in words, oldest first.
	Marks []Mark
	Spans []Span
	// MoreSpans are the oldest, which are not among Spans.
	MoreSpans int
	// Caption says how it was, in one line.
	Caption string
	// Now is how it is at the end.
	Now Look

	times   [looks]time.Duration
	crashes int
	acts    int
}

// Band is a stretch with one look, as drawn: places are on the axis.
type Band struct {
	Look     Look
	X, Width string
	// Title is for a pointer that rests on it.
	Title string
}

// Span is a stretch with one look, or a mark, in words.
type Span struct {
	At   Moment
	Look string
	// For is how long; empty for a mark.
	For    string
	Detail string

	at time.Time
}

// piece is a stretch with one look and what it is due to.
type piece struct {
	stretch
	look Look
	why  string
}

// lanesOf sorts the verdicts of a timeline by pod and service.
func lanesOf(a axis, w *watched, lines []timeline.Line) map[node.PodName]*Lane {
	byPod := map[node.PodName][]timeline.Line{}
	for _, l := range lines {
		if l.Kind == timeline.Verdict {
			key := laneKey(l.Namespace, l.Pod, l.Container)
			byPod[key] = append(byPod[key], l)
		}
	}
	lanes := map[node.PodName]*Lane{}
	for key, own := range byPod {
		lanes[key] = laneOf(a, w, key, own)
	}
	return lanes
}

// laneKey is a pod's name; a service has no namespace and goes by its unit.
func laneKey(namespace, pod, container string) node.PodName {
	if pod == "" {
		return node.PodName{Name: container}
	}
	return node.PodName{Namespace: namespace, Name: pod}
}

func laneOf(a axis, w *watched, key node.PodName, lines []timeline.Line) *Lane {
	lane := &Lane{Namespace: name(key.Namespace), Name: name(key.Name), Service: key.Namespace == ""}
	for _, p := range pieces(a, lines) {
		for _, s := range w.seen(p.stretch) {
			lane.add(a, piece{s, p.look, p.why})
		}
	}
	lane.Bands = a.bands(lane.Bands, lane.Spans)
	return lane
}

// pieces are the worst look of all containers at each time, up to the end of
// the axis, whether somebody looked or not.
func pieces(a axis, lines []timeline.Line) []piece {
	now := map[string]timeline.Line{}
	var all []piece
	at := a.from
	for _, l := range lines {
		t := a.clip(l.Time)
		if t.Before(at) {
			t = at
		}
		at = t
		now[l.Container] = l
		if l.State == timeline.Gone {
			delete(now, l.Container)
		}
		look, why := worst(now)
		if n := len(all) - 1; n >= 0 {
			if all[n].look == look && all[n].why == why {
				continue
			}
			all[n].to = t
		}
		all = append(all, piece{stretch{t, a.to}, look, why})
	}
	return slices.DeleteFunc(all, func(p piece) bool { return !p.from.Before(p.to) || p.look == Unseen })
}

// worst says which container is worst off, and why; of those that run there is
// nothing to say.
func worst(now map[string]timeline.Line) (Look, string) {
	look, why := Unseen, ""
	for container, l := range now {
		of := lookOf(l.State)
		text := ""
		if of != Running {
			text = strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%s: %s, %s", container, l.State, l.Detail), ": "), ", ")
		}
		if of > look || of == look && text < why {
			look, why = of, text
		}
	}
	return look, why
}

func (l *Lane) add(a axis, p piece) {
	d := p.to.Sub(p.from)
	l.times[p.look] += d
	l.Now = p.look
	if !p.to.Equal(a.to) {
		l.Now = Unseen
	}
	l.Spans = append(l.Spans, Span{Look: p.look.String(), For: span(d), Detail: p.why, at: p.from})
	l.Bands = append(l.Bands, Band{Look: p.look, X: a.percent(p.from), Width: a.width(p.from, p.to)})
}

// bands are what is drawn: where there are too many, the worst look of each of
// equal parts of the axis.
func (a axis) bands(all []Band, spans []Span) []Band {
	if len(all) <= a.most.titles {
		for i, s := range spans {
			all[i].Title = fmt.Sprintf("%s from %s for %s", s.Look, a.moment(s.at).Text, s.For)
			if why := clean(s.Detail, maxTitle, false); why != "" {
				all[i].Title += ": " + why
			}
		}
	}
	if len(all) <= a.most.bands {
		return all
	}
	most := a.most.bands
	worst := make([]Band, most)
	part := a.to.Sub(a.from) / time.Duration(most)
	for i, b := range all {
		to := a.to
		if i+1 < len(spans) {
			to = spans[i+1].at
		}
		first := min(most-1, int(a.share(spans[i].at)*float64(most)))
		last := min(most-1, int(a.share(to)*float64(most)))
		for n := first; n <= last; n++ {
			if b.Look > worst[n].Look {
				worst[n] = Band{Look: b.Look}
			}
		}
	}
	var drawn []Band
	for n, b := range worst {
		if b.Look != Unseen {
			from := a.from.Add(time.Duration(n) * part)
			b.X, b.Width = a.percent(from), a.width(from, from.Add(part))
			drawn = append(drawn, b)
		}
	}
	return drawn
}

// longStart is how long all starts together take before they are worth a word:
// each reboot has some.
const longStart = 10 * time.Minute

// finish sorts what is told in words, bounds it, and sums it up.
func (l *Lane) finish(a axis) {
	slices.SortStableFunc(l.Spans, func(a, b Span) int {
		if c := a.at.Compare(b.at); c != 0 || (a.For == "") == (b.For == "") {
			return c
		}
		// A crash comes before the back-off that it led to.
		return strings.Compare(a.For, b.For)
	})
	if more := len(l.Spans) - a.most.spans; more > 0 {
		l.Spans, l.MoreSpans = l.Spans[more:], more
	}
	for i := range l.Spans {
		s := &l.Spans[i]
		s.At, s.Detail = a.moment(s.at), line(s.Detail)
	}
	var parts []string
	for _, look := range []Look{Down, HeldUp, BackOff, Starting, Unknown} {
		if d := l.times[look]; d > 0 && (look != Starting || d >= longStart) {
			parts = append(parts, fmt.Sprintf("%s %s", look, span(d)))
		}
	}
	switch {
	case l.times[Running] == 0 && len(parts) == 0 && l.times[Off] > 0:
		parts = append(parts, "off")
	case l.times[Running] == 0 && len(parts) == 0:
		parts = append(parts, "nothing is known")
	case len(parts) == 0:
		parts = append(parts, "running")
	}
	if l.crashes > 0 {
		parts = append(parts, count(l.crashes, "crash", "crashes"))
	}
	if l.acts > 0 {
		parts = append(parts, count(l.acts, "act", "acts"))
	}
	l.Caption = strings.Join(parts, " · ")
}

// Eventful tells lanes of which there is more to say than that they run.
func (l *Lane) Eventful() bool { return len(l.Spans) > 1 || l.MoreSpans > 0 }

// Text is the lane for those who do not see it.
func (l *Lane) Text() string {
	return fmt.Sprintf("%s: %s. At the end: %s.", l.Short, l.Caption, l.Now)
}

// compare puts services first, then pods by name.
func (l *Lane) compare(other *Lane) int {
	if l.Service != other.Service {
		if l.Service {
			return -1
		}
		return 1
	}
	return cmp.Or(strings.Compare(l.Name, other.Name), strings.Compare(l.Namespace, other.Namespace))
}

// weight says which lanes to show where there is no room for all.
func (l *Lane) weight() int {
	return 1000*int(max(l.Now, Running)) + min(999, l.crashes+l.acts+len(l.Spans)+l.MoreSpans)
}

// chosen are the most telling lanes, in the order of names.
func chosen(lanes []*Lane, most int) (shown []*Lane, more int) {
	slices.SortStableFunc(lanes, (*Lane).compare)
	if len(lanes) <= most {
		return lanes, 0
	}
	slices.SortStableFunc(lanes, func(a, b *Lane) int { return b.weight() - a.weight() })
	shown = lanes[:most:most]
	slices.SortStableFunc(shown, (*Lane).compare)
	return shown, len(lanes) - most
}
