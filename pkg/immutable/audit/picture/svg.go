package picture

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// The measures of a picture, in its own units.
const (
	width  = 960
	height = 260 // of a panel
	left   = 64
	right  = 16
	top    = 56 // of a panel, to its chart
	bottom = 40
	plotW  = width - left - right
	plotH  = height - top - bottom
)

// style has colours that can be told apart by those who see no red or green,
// and a second set for dark grounds.
const style = `
svg { color: #1b1b1b; background: #ffffff; }
text { font: 12px sans-serif; fill: currentColor; }
.title { font-weight: bold; font-size: 14px; }
.axis { stroke: currentColor; stroke-width: 1; opacity: .35; }
.s0 { fill: #0072b2; } .s1 { fill: #e69f00; } .s2 { fill: #009e73; } .s3 { fill: #cc79a7; } .s4 { fill: #56b4e9; } .s5 { fill: #7f7f7f; }
@media (prefers-color-scheme: dark) {
  svg { color: #e8e8e8; background: #16181c; }
  .s0 { fill: #4aa8e0; } .s1 { fill: #f0b43c; } .s2 { fill: #2fc59c; } .s3 { fill: #e09ac2; } .s4 { fill: #8fd0f5; } .s5 { fill: #a8a8a8; }
}
`

// colours is how many classes there are for series.
const colours = 6

// Write writes the panels as one SVG document.
func Write(w io.Writer, panels []Panel) error {
	d := &drawing{w: bufio.NewWriter(w)}
	total := max(1, len(panels)) * height
	d.f("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")
	d.f("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n", width, total, width, total)
	d.f("<title>%s</title>\n", escape(titles(panels)))
	d.f("<style>%s</style>\n", style)
	for i, p := range panels {
		d.f("<g transform=\"translate(0 %d)\">\n", i*height)
		d.panel(p)
		d.f("</g>\n")
	}
	if len(panels) == 0 {
		d.text(left, 40, "", "start", "nothing to show")
	}
	d.f("</svg>\n")
	return d.w.Flush()
}

func titles(panels []Panel) string {
	var all []string
	for _, p := range panels {
		all = append(all, p.Title)
	}
	return strings.Join(all, "; ")
}

// drawing writes; its writer keeps the first error.
type drawing struct{ w *bufio.Writer }

func (d *drawing) f(format string, args ...any) { fmt.Fprintf(d.w, format, args...) }

func (d *drawing) text(x, y float64, class, anchor, text string) {
	d.f("<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">%s</text>\n", x, y, class, anchor, escape(text))
}

func (d *drawing) panel(p Panel) {
	d.text(left, 20, "title", "start", p.Title)
	b := p.bars()
	if len(b.all) == 0 {
		d.text(left, top+plotH/2, "", "start", "nothing was counted")
		return
	}
	d.legend(p, b)
	d.axes(b)
	// The top of the axis is a round number.
	scale := float64(plotH) / float64(round(b.most))
	w := float64(plotW) / float64(len(b.all))
	for i, bar := range b.all {
		y := float64(top + plotH)
		for s, n := range bar.counts {
			if n == 0 {
				continue
			}
			h := float64(n) * scale
			y -= h
			d.f("<rect class=\"s%d\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>\n", s%colours, left+float64(i)*w, y, max(w-.5, .5), h)
		}
	}
}

func (d *drawing) legend(p Panel, b bars) {
	x := float64(left)
	for i, name := range p.Series {
		d.f("<rect class=\"s%d\" x=\"%.1f\" y=\"30\" width=\"10\" height=\"10\"/>\n", i%colours, x)
		d.text(x+14, 39, "", "start", name)
		x += 14 + 7*float64(utf8.RuneCountInString(name)) + 16
	}
	d.text(width-right, 20, "", "end", fmt.Sprintf("%s per %s; peak %d in one second, %s", p.Unit, span(b.step), b.peak, b.at.UTC().Format("15:04:05")))
}

func (d *drawing) axes(b bars) {
	high := round(b.most)
	for _, part := range []int64{0, high / 2, high} {
		if part == 0 || part*2 == high || part == high {
			y := float64(top+plotH) - float64(part)*float64(plotH)/float64(high)
			d.f("<line class=\"axis\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>\n", left, y, width-right, y)
			d.text(left-6, y+4, "", "end", fmt.Sprint(part))
		}
	}
	end := b.first.Add(time.Duration(len(b.all)) * b.step)
	layout := "15:04:05"
	if end.Sub(b.first) > 20*time.Hour {
		layout = "Jan 2 15:04"
	}
	const marks = 6
	for i := range marks + 1 {
		x := left + float64(plotW)*float64(i)/marks
		at := b.first.Add(end.Sub(b.first) * time.Duration(i) / marks)
		anchor := "middle"
		switch i {
		case 0:
			anchor = "start"
		case marks:
			anchor = "end"
		}
		d.text(x, top+plotH+18, "", anchor, at.UTC().Format(layout))
	}
	d.text(left, top+plotH+34, "", "start", b.first.UTC().Format("2006-01-02")+" UTC")
}

// round is the next number of the form 1, 2 or 5 times a power of ten.
func round(n int64) int64 {
	for power := int64(1); power < 1<<58; power *= 10 {
		for _, m := range []int64{1, 2, 5} {
			if m*power >= n {
				return m * power
			}
		}
	}
	return max(n, 1)
}

func span(d time.Duration) string {
	switch {
	case d == time.Second:
		return "second"
	case d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%d s", d/time.Second)
}

// escape makes text of anybody's safe in XML: names come out of logs.
func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder does not fail
	return b.String()
}
