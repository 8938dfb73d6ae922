package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/timeline"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// Sign is what a mark stands for.
type Sign string

// Signs.
const (
	Crashed Sign = "crash"
	Acted   Sign = "act"
	Rolled  Sign = "rollout"
)

// Mark is one sign on a lane, or several that are too near one another to be
// told apart.
type Mark struct {
	Sign Sign
	X    string
	// Aside is set where a sign of another kind is in the way.
	Aside bool
	Title string

	share float64
	n     int
}

// nearest is the share of the axis that a sign takes on a wide page. On a
// phone signs overlap, and a row of them is still a row.
const nearest = 0.012

// mark puts one sign at a time, which has to be no earlier than those before of
// the same kind.
func (l *Lane) mark(a axis, sign Sign, at time.Time, what string) {
	s := a.share(at)
	for i := len(l.Marks) - 1; i >= 0; i-- {
		m := &l.Marks[i]
		if m.Sign != sign {
			continue
		}
		if s-m.share > nearest {
			break
		}
		m.n++
		m.Title = fmt.Sprintf("%s, and %d more until %s", first(m.Title), m.n-1, a.moment(at).Text)
		return
	}
	if l.signs(sign) >= a.most.marks {
		return
	}
	l.Marks = append(l.Marks, Mark{Sign: sign, X: a.percent(at), Title: what + " at " + a.moment(at).Text, share: s, n: 1, Aside: l.occupied(sign, s)})
}

// first is the beginning of a title of several signs.
func first(title string) string {
	for i := range title {
		if len(title)-i > 6 && title[i:i+6] == ", and " {
			return title[:i]
		}
	}
	return title
}

// occupied tells whether an act would hide the sign of a rollout, or the other
// way round: both are drawn below the bands, crashes above.
func (l *Lane) occupied(sign Sign, share float64) bool {
	return sign != Crashed && slices.ContainsFunc(l.Marks, func(m Mark) bool {
		return m.Sign != Crashed && m.Sign != sign && math.Abs(m.share-share) < nearest
	})
}

func (l *Lane) signs(sign Sign) int {
	n := 0
	for _, m := range l.Marks {
		if m.Sign == sign {
			n++
		}
	}
	return n
}

// word adds a mark to what is told in words.
func (l *Lane) word(at time.Time, what, detail string) {
	l.Spans = append(l.Spans, Span{Look: what, Detail: detail, at: at})
}

// rollouts marks where the revision of a pod changed.
func (r *Report) rollouts(a axis, lanes map[node.PodName]*Lane, lines []timeline.Line) {
	was := map[node.PodName]string{}
	for _, l := range lines {
		if l.Kind != timeline.Verdict || l.Revision == "" {
			continue
		}
		key := laneKey(l.Namespace, l.Pod, l.Container)
		before := was[key]
		was[key] = l.Revision
		if before == "" || before == l.Revision || !a.has(l.Time) {
			continue
		}
		what := fmt.Sprintf("rollout of revision %s", name(l.Revision))
		lanes[key].mark(a, Rolled, l.Time, what)
		lanes[key].word(l.Time, "rollout", fmt.Sprintf("revision %s, after %s", l.Revision, before))
		r.Rollouts++
	}
}

// actMarks marks acts that did, or may have done, something.
func actMarks(a axis, lanes map[node.PodName]*Lane, acts []restartpolicy.Act) {
	for _, act := range acts {
		lane := lanes[laneKey(act.Key.Namespace, act.Key.Name, act.Key.Container)]
		if lane == nil || !a.has(act.Began.Wall) || !taken(act) {
			continue
		}
		lane.acts++
		lane.mark(a, Acted, act.Began.Wall, "act "+word(string(act.Kind)))
		lane.word(act.Began.Wall, "act", fmt.Sprintf("%s: %s", act.Kind, act.Result))
	}
}

func taken(act restartpolicy.Act) bool {
	return act.Result != restartpolicy.ResultRefused && act.Result != restartpolicy.ResultDryRun
}
