package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/timeline"
)

// Guard is the watch guard over time.
type Guard struct {
	// Top is what the height of the curves stands for.
	Top     int
	Streams Curve
	Watches Curve
	// Lists is how many LISTs were sent to the API server in the time.
	Lists int
	// Text is the picture in words.
	Text string
}

// Curve is one count over time: Path is SVG, 1000 wide and 100 high.
type Curve struct {
	Path              string
	Last, Least, Most int
}

// maxPoints are the points of a curve.
const maxPoints = 480

// silent is how long a curve goes on without a line.
const silent = 5 * time.Minute

func guardOf(a axis, lines []timeline.Line) *Guard {
	var own []timeline.Line
	for _, l := range lines {
		if l.Kind == timeline.Proxy && a.has(l.Time) && (len(own) == 0 || l.Time.After(own[len(own)-1].Time)) {
			own = append(own, l)
		}
	}
	if len(own) < 2 {
		return nil
	}
	g := &Guard{Top: 1}
	for i, l := range own {
		g.Top = max(g.Top, l.Counts.Streams, l.Counts.Watches)
		if i > 0 {
			// A new guard counts from zero.
			if d := l.Counts.Lists - own[i-1].Counts.Lists; d > 0 {
				g.Lists += int(d)
			} else if d < 0 {
				g.Lists += int(l.Counts.Lists)
			}
		}
	}
	g.Top = round(g.Top)
	g.Streams = curve(a, own, g.Top, func(c *timeline.Counts) int { return c.Streams })
	g.Watches = curve(a, own, g.Top, func(c *timeline.Counts) int { return c.Watches })
	g.Text = fmt.Sprintf("The kubelet held from %d to %d watches, %d at the end; the API server saw from %d to %d, %d at the end.",
		g.Streams.Least, g.Streams.Most, g.Streams.Last, g.Watches.Least, g.Watches.Most, g.Watches.Last)
	return g
}

// round is the next number that reads well.
func round(n int) int {
	if n <= 10 {
		return n
	}
	for unit := 1; unit < 1<<50; unit *= 10 {
		for _, k := range []int{10, 12, 14, 16, 20, 24, 30, 40, 50, 60, 80} {
			if k*unit >= n {
				return k * unit
			}
		}
	}
	return n
}

// curve keeps the largest of the counts that fall on one point.
func curve(a axis, lines []timeline.Line, top int, of func(*timeline.Counts) int) Curve {
	c := Curve{Least: of(lines[0].Counts)}
	var b strings.Builder
	var last time.Time
	point, height := -1, 0
	flush := func(move bool) {
		if point < 0 {
			return
		}
		word := "L"
		if move {
			word = "M"
		}
		fmt.Fprintf(&b, "%s%.1f %.1f", word, 1000*float64(point)/maxPoints, 100-100*float64(height)/float64(top))
	}
	move := true
	for _, l := range lines {
		n := of(l.Counts)
		c.Last, c.Least, c.Most = n, min(c.Least, n), max(c.Most, n)
		p := int(a.share(l.Time) * maxPoints)
		gap := !last.IsZero() && l.Time.Sub(last) > max(silent, 2*a.to.Sub(a.from)/maxPoints)
		last = l.Time
		if p == point && !gap {
			height = max(height, n)
			continue
		}
		flush(move)
		move = point < 0 || gap
		point, height = p, n
	}
	flush(move)
	c.Path = b.String()
	return c
}
