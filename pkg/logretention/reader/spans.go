package reader

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// span is a part of one segment without a gap in it.
type span struct {
	attempt *Attempt
	// segment is an index into the attempt's segments, or their number for
	// what comes after the last.
	segment int
	// from and to are positions in the segment's text; to is -1 for its end.
	from, to int64
	// marks are lines of ours to be shown before it.
	marks []string
	// fresh is set where no line goes on from the span before.
	fresh bool
}

// newest tells whether more may be written to the span's segment.
func (s span) newest() bool {
	return s.attempt.Live && s.to < 0 && s.segment == len(s.attempt.Segments)-1
}

// spansOf takes an attempt apart at its gaps.
func spansOf(a *Attempt, from int) []span {
	gaps := slices.Clone(a.Gaps)
	slices.SortStableFunc(gaps, func(a, b record.Gap) int {
		return cmp.Or(cmp.Compare(a.Before, b.Before), cmp.Compare(a.Offset, b.Offset))
	})
	var all []span
	next := span{attempt: a, segment: from, to: -1}
	for i := from; i <= len(a.Segments); i++ {
		next.segment, next.from = i, 0
		for ; len(gaps) > 0 && gaps[0].Before <= i; gaps = gaps[1:] {
			g := gaps[0]
			if g.Before < from {
				continue
			}
			if g.Offset > next.from && i < len(a.Segments) {
				whole := next
				whole.to = g.Offset
				all = append(all, whole)
				next = span{attempt: a, segment: i, from: g.Offset, to: -1}
			}
			next.marks = append(next.marks, gapMark(g))
			next.fresh = true
		}
		if i < len(a.Segments) || len(next.marks) > 0 {
			all = append(all, next)
		}
		next = span{attempt: a, to: -1}
	}
	return all
}

// layOut puts the spans of all attempts in a row, with a header before each
// attempt.
func layOut(attempts []Attempt) []span {
	var all []span
	for i := range attempts {
		a := &attempts[i]
		spans := spansOf(a, 0)
		if len(spans) == 0 {
			spans = []span{{attempt: a, to: -1}}
		}
		spans[0].fresh = true
		spans[0].marks = append([]string{a.Title()}, spans[0].marks...)
		all = append(all, spans...)
	}
	return all
}

func gapMark(g record.Gap) string {
	reason := g.Reason
	if reason == "" {
		reason = "reason unknown"
	}
	if g.Bytes < 0 {
		return "an unknown number of bytes missing here: " + reason
	}
	return fmt.Sprintf("%d bytes missing here: %s", g.Bytes, reason)
}
