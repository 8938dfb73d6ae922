package report

import (
	"fmt"
	"time"

	"github.com/nodekeeper/nodekeeper/internal/cli"
)

// axis is the span of time that a report is about, and how much of it is shown.
type axis struct {
	from, to time.Time
	most     bounds
}

// percent is the place of a time on the axis, for a style sheet or SVG.
func (a axis) percent(t time.Time) string { return fmt.Sprintf("%.2f%%", 100*a.share(t)) }

// share is the place of a time on the axis, from 0 to 1.
func (a axis) share(t time.Time) float64 {
	return min(1, max(0, float64(t.Sub(a.from))/float64(a.to.Sub(a.from))))
}

func (a axis) width(from, to time.Time) string {
	return fmt.Sprintf("%.2f%%", 100*(a.share(to)-a.share(from)))
}

func (a axis) clip(t time.Time) time.Time {
	switch {
	case t.Before(a.from):
		return a.from
	case t.After(a.to):
		return a.to
	}
	return t
}

func (a axis) has(t time.Time) bool { return !t.Before(a.from) && !t.After(a.to) }

// Tick is one label of the axis. Every second one is Minor: a phone has no room
// for it.
type Tick struct {
	X, Text string
	Minor   bool
}

var steps = []time.Duration{
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 48 * time.Hour, 7 * 24 * time.Hour, 28 * 24 * time.Hour,
}

const mostTicks = 13

// ticks are at round times of the day, and none so near an end of the axis that
// its text would leave the page.
func (a axis) ticks() []Tick {
	step := steps[len(steps)-1]
	for _, s := range steps {
		if a.to.Sub(a.from) <= mostTicks*s {
			step = s
			break
		}
	}
	_, offset := a.from.Zone()
	shift := time.Duration(offset) * time.Second
	first := a.from.Add(shift).Truncate(step).Add(step - shift)
	var ticks []Tick
	for t := first; t.Before(a.to) && len(ticks) < 2*mostTicks; t = t.Add(step) {
		if s := a.share(t); s < 0.03 || s > 0.97 {
			continue
		}
		text := t.Format("15:04")
		if text == "00:00" {
			text = t.Format("2 Jan")
		}
		ticks = append(ticks, Tick{X: a.percent(t), Text: text, Minor: len(ticks)%2 == 1})
	}
	return ticks
}

// Moment is a time with its words.
type Moment struct{ Machine, Text string }

// moment has the date where the report is about several.
func (a axis) moment(t time.Time) Moment {
	t = t.In(a.to.Location())
	layout := "2 Jan 15:04:05"
	if t.Year() != a.to.Year() {
		layout = "2 Jan 2006 15:04:05"
	}
	return Moment{t.Format(time.RFC3339), t.Format(layout)}
}

// zone names a time zone: "UTC", "CET (UTC+01:00)".
func zone(t time.Time) string {
	name, offset := t.Zone()
	if name == "UTC" {
		return name
	}
	zone := "UTC" + t.Format("-07:00")
	if offset == 0 || name == "" || name[0] == '+' || name[0] == '-' {
		return zone
	}
	return name + " (" + zone + ")"
}

func span(d time.Duration) string { return cli.Span(int64(max(0, d).Round(time.Second) / time.Second)) }

// count is "1 crash", "2 crashes".
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
