package store

import (
	"cmp"
	"slices"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// dropSegment removes segment i from a log and declares the gap. Gaps within
// or around it become part of the new one. The arguments are not changed.
func dropSegment(segs []record.Segment, gaps []record.Gap, i int, reason string) ([]record.Segment, []record.Gap) {
	hole := record.Gap{Before: i, Bytes: segs[i].Bytes, Reason: reason}
	var out []record.Gap
	for _, g := range gaps {
		switch {
		case g.Before == i && g.Offset > 0, g.Before == i && segs[i].Bytes == 0:
			hole.Bytes = addBytes(hole.Bytes, g.Bytes)
		case g.Before > i:
			g.Before--
			out = append(out, g)
		default:
			out = append(out, g)
		}
	}
	return slices.Delete(slices.Clone(segs), i, i+1), normalGaps(append(out, hole))
}

// addBytes adds sizes of gaps, of which negative ones are unknown.
func addBytes(a, b int64) int64 {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

// normalGaps sorts gaps and makes one of those at the same place; it says what
// the largest of them says.
func normalGaps(gaps []record.Gap) []record.Gap {
	gaps = slices.Clone(gaps)
	slices.SortStableFunc(gaps, func(a, b record.Gap) int {
		return cmp.Or(cmp.Compare(a.Before, b.Before), cmp.Compare(a.Offset, b.Offset))
	})
	var out []record.Gap
	var said int64
	for _, g := range gaps {
		last := len(out) - 1
		if last < 0 || out[last].Before != g.Before || out[last].Offset != g.Offset {
			out, said = append(out, g), g.Bytes
			continue
		}
		if g.Bytes > said {
			out[last].Reason, said = g.Reason, g.Bytes
		}
		out[last].Bytes = addBytes(out[last].Bytes, g.Bytes)
	}
	return out
}
