package picture

import "time"

// Panel is one chart.
type Panel struct {
	Title string
	// Unit is what is counted, in the plural.
	Unit string
	// Series are the names of the parts of a bar, from its foot up.
	Series []string
	// Points are in the order of time.
	Points []Point
}

// Point is one second's counts, one for each series.
type Point struct {
	At     time.Time
	Counts []int64
}

// bar is a step of time.
type bar struct {
	counts []int64 // in the whole step
	total  int64
	// peak is the most in one second of it.
	peak int64
}

// bars are a panel's points in steps of one length.
type bars struct {
	first time.Time
	step  time.Duration
	all   []bar
	// most is the highest total.
	most int64
	peak int64
	at   time.Time // of the peak
}

// steps are the lengths that a bar may have.
var steps = [...]time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// maxBars is how many bars fit a panel at most.
const maxBars = 240

// longest is the longest time that a panel shows, up to its last point.
const longest = 400 * 24 * time.Hour

func (p Panel) bars() bars {
	// A clock that was wrong for a moment must not stretch the axis over years.
	for len(p.Points) > 0 && p.Points[len(p.Points)-1].At.Sub(p.Points[0].At) > longest {
		p.Points = p.Points[1:]
	}
	if len(p.Points) == 0 {
		return bars{}
	}
	first, last := p.Points[0].At, p.Points[len(p.Points)-1].At
	step := steps[len(steps)-1]
	for _, s := range steps {
		if last.Sub(first)/s < maxBars {
			step = s
			break
		}
	}
	for last.Sub(first)/step >= maxBars {
		step *= 2
	}
	b := bars{first: first.Truncate(step), step: step}
	b.all = make([]bar, last.Sub(b.first)/step+1)
	for i := range b.all {
		b.all[i].counts = make([]int64, len(p.Series))
	}
	for _, point := range p.Points {
		at := &b.all[point.At.Sub(b.first)/step]
		var total int64
		for i, n := range point.Counts {
			at.counts[i] += n
			total += n
		}
		at.total += total
		at.peak = max(at.peak, total)
		b.most = max(b.most, at.total)
		if total > b.peak {
			b.peak, b.at = total, point.At
		}
	}
	return b
}
