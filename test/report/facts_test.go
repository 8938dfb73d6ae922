package report

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// unfold opens all that is folded.
var unfold = chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("details").forEach(d => d.open = true)`)

// fits fails where a reader would have to scroll sideways, or where something
// lies beyond the edge.
func (b *tab) fits(how string, width int64) {
	b.Helper()
	// A phone shows more than its width when the page wants it: innerWidth grows.
	if wide := eval[int64](b, "Math.max(document.scrollingElement.scrollWidth, innerWidth)"); wide > width {
		b.Errorf("%s: %d pixels wide", how, wide)
	}
	beyond := eval[[]string](b, fmt.Sprintf(`[...document.querySelectorAll("body :not(svg *):not(.hidden):not(.hidden *):not(thead, thead *)")].filter(e => {
		const r = e.getBoundingClientRect();
		return r.width > 0 && (r.right > %d + 1 || r.left < -1);
	}).slice(0, 5).map(e => e.outerHTML.slice(0, 120))`, width))
	for _, e := range beyond {
		b.Errorf("%s: beyond the edge: %s", how, e)
	}
}

// told checks that the page of the made-up day tells its story.
func told(t *testing.T, browser context.Context, path string) {
	b := open(t, browser, path, views[0])
	for what, c := range map[string]struct {
		selector string
		least    int
		most     int
	}{
		"pods":                 {".lanes:last-of-type > li", 8, 8},
		"spans of running":     {".track .b.running", 12, 200},
		"spans of back-off":    {".track .b.back-off", 1, 200},
		"spans of down":        {".track .b.down", 1, 20},
		"crash marks":          {".track use.crash", 3, 60},
		"acts":                 {".track use.act", 1, 5},
		"rollouts":             {".track use.rollout", 1, 4},
		"reboots":              {"#nobody .reboot", 1, 1},
		"times without a look": {"#nobody svg", 1, 2},
		"ends of containers":   {".crashes tbody tr:not(.log)", 20, 100},
		"logs":                 {".crashes pre", 5, 40},
		"acts in the table":    {".acts tbody tr", 3, 3},
		"verdicts now":         {".now tbody tr", 1, 2},
		"curves":               {".chart path.streams, .chart path.watches", 2, 2},
		"lanes with a text":    {"svg.track[role=img][aria-label]", 8, 20},
		"scripts":              {"script", 0, 0},
		"foreign addresses":    {"[src], link[href^=http], a[href]", 0, 0},
	} {
		if n := eval[int](b, fmt.Sprintf("document.querySelectorAll(%q).length", c.selector)); n < c.least || n > c.most {
			t.Errorf("%s: %d, want %d to %d", what, n, c.least, c.most)
		}
	}
	text := eval[string](b, "document.body.textContent")
	for _, words := range []string{"1 of 8 static pods is not well.", "keepalived", "lost-in-reboot", "revision 12, after 11", "healed", "signal 9",
		"cluster-policy-controller", "panic: runtime error", "LISTs went to the API server"} {
		if !strings.Contains(text, words) {
			t.Errorf("%q is not told", words)
		}
	}
	// Nothing of a lane is drawn on top of another, nor in no place at all.
	if n := eval[int](b, `[...document.querySelectorAll("svg.track > rect.b")].filter(e => e.getBoundingClientRect().width <= 0).length`); n > 0 {
		t.Errorf("%d spans have no width", n)
	}
}

// harmless checks that hostile text has stayed text.
func harmless(t *testing.T, browser context.Context, path string) {
	b := open(t, browser, path, views[2])
	for _, selector := range []string{"script", "img", "iframe", "a", "form", "base", "style:not(head > style)", "[onload], [onerror], [onclick]", "marquee"} {
		if n := eval[int](b, fmt.Sprintf("document.querySelectorAll(%q).length", selector)); n > 0 {
			t.Errorf("%d of %s", n, selector)
		}
	}
	if eval[bool](b, `"owned" in window`) {
		t.Error("a script has run")
	}
	text := eval[string](b, "document.body.textContent")
	if strings.ContainsAny(text, "\x00\x1b\u202e\u2066\u200b") {
		t.Error("control characters are left")
	}
	if !strings.Contains(text, "<script>") || !strings.Contains(text, "more pods") || !strings.Contains(text, "older ones") {
		t.Error("what was left out is not told, or the text is gone")
	}
}
