package store

import (
	"slices"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// maxSegments is how many files of ours one log may have: they are listed in
// meta.json, which is bounded.
const maxSegments = 2000

// budget is what may be left of a log, in bytes of the disk: its beginning and
// its end.
type budget struct {
	head, tail int64
	reason     string
}

// shrinkable is one segment, oldest first.
type shrinkable struct {
	// ours is what its removal would free; 0 for one that the kubelet holds.
	ours int64
	text int64
	// pinned must stay as it is: it is being written to.
	pinned bool
}

// share is what stays of a segment: all, or so much of its text's beginning
// and end.
type share struct {
	whole      bool
	head, tail int64
}

func (s share) none() bool { return !s.whole && s.head == 0 && s.tail == 0 }

// split shares a budget among segments: the newest bytes, then the oldest. What
// is not ours costs nothing and stays.
func split(segs []shrinkable, b budget) []share {
	out := make([]share, len(segs))
	left, files := b.tail, maxSegments
	for i, seg := range slices.Backward(segs) {
		switch {
		case seg.pinned || seg.ours == 0:
			out[i].whole = true
		case seg.ours <= left && files > 0:
			out[i].whole = true
			left -= seg.ours
			files--
		default:
			out[i].tail = min(left, seg.text)
			left = 0
		}
	}
	left = b.head
	for i, seg := range segs {
		if left <= 0 {
			break
		}
		switch x := &out[i]; {
		case x.whole:
			left -= seg.ours
		case seg.ours <= left || x.tail+left >= seg.text:
			*x = share{whole: true}
			left -= seg.ours
		default:
			x.head = left
			left = 0
		}
	}
	return out
}

// cut is what became of a segment's text: so much of its beginning and end is
// in the new file, of text bytes.
type cut struct{ head, tail, text int64 }

// apply gives the segments and gaps of a log after cutting it: cuts has those
// segments that were cut, by index.
func apply(segs []record.Segment, gaps []record.Gap, shares []share, cuts map[int]cut, reason string) ([]record.Segment, []record.Gap) {
	segs = slices.Clone(segs)
	var out []record.Gap
	for _, g := range gaps {
		c, ok := cuts[g.Before]
		switch hole := c.text - c.tail; {
		case !ok || g.Offset < c.head || g.Offset == 0:
		case g.Offset >= hole && c.tail > 0:
			g.Offset += c.head - hole
		default:
			g.Offset = c.head
		}
		out = append(out, g)
	}
	for i, c := range cuts {
		n, _, _ := record.ParseSegment(segs[i].Name)
		segs[i].Name, segs[i].Bytes = record.SegmentName(n, false), c.head+c.tail
		hole := record.Gap{Before: i, Offset: c.head, Bytes: c.text - c.head - c.tail, Reason: reason}
		if c.tail == 0 {
			hole.Before, hole.Offset = i+1, 0
		}
		out = append(out, hole)
	}
	// A gap at the end of a segment is one before the next.
	for i := range out {
		if g := &out[i]; g.Before < len(segs) && g.Offset > 0 && g.Offset >= segs[g.Before].Bytes && !shares[g.Before].none() {
			g.Before, g.Offset = g.Before+1, 0
		}
	}
	for i := len(segs) - 1; i >= 0; i-- {
		if shares[i].none() {
			segs, out = dropSegment(segs, out, i, reason)
		}
	}
	return segs, normalGaps(out)
}
