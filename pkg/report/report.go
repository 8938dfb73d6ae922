package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// Report is what a page shows. All texts in it are bounded and cleaned, and not
// escaped.
type Report struct {
	Node     string
	From, To Moment
	// Range is From and To in words, Zone the time zone of all times.
	Range, Zone, Length string
	Written             Moment
	Version             string

	// Known is set where an agent has told of itself; Stale where that was long
	// ago.
	Known, Stale   bool
	Agent, Runtime string
	DryRun         bool
	// Paused and Withheld say why there are no acts.
	Paused, Withheld string
	// Pods are guarded, Troubled of them are not well.
	Pods, Troubled int
	Now            []Verdict
	MoreNow        int

	Ticks               []Tick
	Gaps                []Band
	Reboots             []Reboot
	Services, Lanes     []*Lane
	MoreLanes, Rollouts int
	// Legend are the looks and signs that occur.
	Legend []Look
	Signs  []Sign
	// Longest is the longest time that a pod was down in all, and which.
	Longest    string
	LongestPod string

	Crashes []Crash
	// CrashCount counts crashes, Ends all ends of containers; MoreCrashes are
	// not among Crashes. Dropped counts records that are no longer kept.
	CrashCount, Ends, MoreCrashes, Dropped int

	Acts               []Act
	ActCount, MoreActs int

	Guard *Guard

	Notes     []string
	MoreNotes int

	most bounds
}

// Reboot is a boot of the node.
type Reboot struct {
	X  string
	At Moment
}

// Of makes a report of the time between from and to, which must be later, in
// the time zone of to.
func Of(src Sources, from, to time.Time) *Report {
	return of(src, axis{from.In(to.Location()), to, generous()})
}

func of(src Sources, a axis) *Report {
	from, to := a.from, a.to
	lines := src.Timeline.Lines
	r := &Report{
		From: a.moment(from), To: a.moment(to), Zone: zone(to), Length: span(to.Sub(from)), Range: interval(from, to),
		Written: a.moment(to), Version: name(src.Version), Ticks: a.ticks(), Node: nodeName(src),
	}
	r.most = a.most
	r.now(a, src)

	w := watchedOf(a, lines)
	for _, g := range w.gaps {
		if len(r.Gaps) < a.most.bands {
			r.Gaps = append(r.Gaps, Band{X: a.percent(g.from), Width: a.width(g.from, g.to)})
		}
	}
	for _, at := range w.boots[max(0, len(w.boots)-a.most.marks):] {
		r.Reboots = append(r.Reboots, Reboot{a.percent(at), a.moment(at)})
	}
	lanes := lanesOf(a, &w, lines)
	r.rollouts(a, lanes, lines)
	r.crashes(a, lanes, src)
	actMarks(a, lanes, src.Acts)
	r.lanes(a, lanes)
	r.acts(a, src.Acts)
	r.Guard = guardOf(a, lines)

	for _, n := range src.Notes {
		r.note(n)
	}
	if n := src.Timeline.Skipped; n > 0 {
		r.note(fmt.Sprintf("%s of the timeline made no sense and were left out", count(n, "line", "lines")))
	}
	if len(lines) == 0 {
		r.note("the agent has kept no timeline yet: how the pods were over time is not known")
	}
	return r
}

func nodeName(src Sources) string {
	var status, records string
	if src.Status != nil {
		status = src.Status.Node.Name
	}
	if src.Records != nil {
		records = src.Records.Node
	}
	return name(cmp.Or(status, records, src.Node, "this node"))
}

// lanes takes over what is shown.
func (r *Report) lanes(a axis, all map[node.PodName]*Lane) {
	var services, pods []*Lane
	var longest time.Duration
	for _, l := range all {
		l.finish(a)
		l.Short = r.short(l.Name)
		if l.Service {
			services = append(services, l)
			continue
		}
		pods = append(pods, l)
		if d := l.times[Down]; d > longest || d == longest && d > 0 && l.Short < r.LongestPod {
			longest, r.Longest, r.LongestPod = d, span(d), l.Short
		}
	}
	r.Services, _ = chosen(services, a.most.services)
	r.Lanes, r.MoreLanes = chosen(pods, a.most.lanes)
	r.legend()
}

// legend explains what is drawn, worst first.
func (r *Report) legend() {
	shown := append(slices.Clone(r.Services), r.Lanes...)
	for look := looks - 1; look > Unseen; look-- {
		if slices.ContainsFunc(shown, func(l *Lane) bool { return l.times[look] > 0 }) {
			r.Legend = append(r.Legend, look)
		}
	}
	if len(r.Gaps) > 0 {
		r.Legend = append(r.Legend, Unseen)
	}
	for _, sign := range []Sign{Crashed, Acted, Rolled} {
		if slices.ContainsFunc(shown, func(l *Lane) bool { return l.signs(sign) > 0 }) {
			r.Signs = append(r.Signs, sign)
		}
	}
}

func (r *Report) note(text string) {
	if len(r.Notes) >= r.most.notes {
		r.MoreNotes++
		return
	}
	if text = line(text); !slices.Contains(r.Notes, text) {
		r.Notes = append(r.Notes, text)
	}
}

// short is a static pod's name without its node's: kubelet
// pkg/kubelet/config/common.go generatePodName.
func (r *Report) short(pod string) string {
	if rest := strings.TrimSuffix(pod, "-"+strings.ToLower(r.Node)); rest != "" {
		return rest
	}
	return pod
}

// Headline is the most important thing in one sentence.
func (r *Report) Headline() string {
	pods := count(r.Pods, "static pod", "static pods")
	switch {
	case !r.Known:
		return "How the pods are now is not known: the agent does not run."
	case r.Stale:
		return "How the pods are now is not known: the agent has not looked for too long."
	case r.Pods == 0:
		return "No static pods are guarded."
	case r.Troubled == 0 && r.Pods == 1:
		return "The one static pod is well."
	case r.Troubled == 0:
		return "All " + pods + " are well."
	case r.Troubled == 1:
		return "1 of " + pods + " is not well."
	}
	return fmt.Sprintf("%d of %s are not well.", r.Troubled, pods)
}

// Well tells whether the headline is good news.
func (r *Report) Well() bool { return r.Known && !r.Stale && r.Troubled == 0 }

// interval is a span of time in words; the year is told once.
func interval(from, to time.Time) string {
	layout := "Mon 2 Jan 15:04"
	if from.Year() != to.Year() {
		layout = "Mon 2 Jan 2006 15:04"
	}
	last := "Mon 2 Jan 2006 15:04"
	if from.YearDay() == to.YearDay() && from.Year() == to.Year() {
		last = "15:04"
		layout = "Mon 2 Jan 2006 15:04"
	}
	return from.Format(layout) + " – " + to.Format(last)
}
