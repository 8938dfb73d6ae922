package retention

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// What is left of a log that is cut for lack of room.
const (
	TailBytes     = 256 << 10
	MetadataBytes = 4 << 10
)

// Slack is above a limit what file systems round up, and what cutting at line ends leaves:
// without it a record could be cut again and again.
const Slack = 64 << 10

// Item is one record.
type Item struct {
	// Path is the record's directory below the record root: its identity.
	Path string
	// Container is the container's directory below the record root.
	Container string
	PodUID    string
	Boot      string
	// Start and Finish may be zero; Finish then stands for when the record was
	// made.
	Start, Finish time.Time
	// Began and Index are record.Series; Began is zero if unknown.
	Began time.Time
	Index int
	Class record.Class
	// Bytes is what evicting the record would free: blocks that nobody else
	// holds. Log is the part of it that belongs to the log.
	Bytes, Log int64
	Held       bool
}

// history is one container's records, oldest first.
type history []Item

// histories sorts records by container. Within a series the index orders them,
// whatever the clock did meanwhile.
func histories(items []Item) []history {
	type series struct {
		container, uid string
		began          int64
	}
	of := func(i Item) series {
		if i.Began.IsZero() {
			return series{i.Container, i.PodUID, -1}
		}
		return series{i.Container, i.PodUID, i.Began.UnixNano()}
	}
	ended := map[series]time.Time{}
	for _, i := range items {
		if s := of(i); i.Finish.After(ended[s]) {
			ended[s] = i.Finish
		}
	}
	sorted := slices.Clone(items)
	slices.SortFunc(sorted, func(a, b Item) int {
		if c := cmp.Compare(a.Container, b.Container); c != 0 {
			return c
		}
		if x, y := of(a), of(b); x != y {
			return cmp.Or(ended[x].Compare(ended[y]), cmp.Compare(x.began, y.began), cmp.Compare(x.uid, y.uid))
		}
		return cmp.Or(cmp.Compare(a.Index, b.Index), a.Finish.Compare(b.Finish), strings.Compare(a.Path, b.Path))
	})
	var out []history
	for len(sorted) > 0 {
		n := 1
		for n < len(sorted) && sorted[n].Container == sorted[0].Container {
			n++
		}
		out = append(out, history(sorted[:n:n]))
		sorted = sorted[n:]
	}
	return out
}

func (h history) bytes() int64 {
	var sum int64
	for _, i := range h {
		sum += i.Bytes
	}
	return sum
}

// current tells whether a record belongs to the newest series.
func (h history) current(i int) bool {
	newest := h[len(h)-1]
	return h[i].PodUID == newest.PodUID && h[i].Began.Equal(newest.Began)
}

// share is, per record, why the container's share holds it; "" for records
// beyond it.
func (h history) share(l Limits) []string {
	why := make([]string, len(h))
	type generation struct{ uid, boot string }
	seen := map[generation]bool{}
	for i := len(h) - 1; i >= 0; i-- {
		g := generation{h[i].PodUID, h[i].Boot}
		switch {
		case len(h)-i <= l.Last:
			why[i] = "among the newest"
		case !seen[g] && len(seen) <= l.Generations:
			why[i] = "newest of an earlier revision or boot"
		case h.current(i) && h[i].Index >= 1 && h[i].Index <= l.First:
			why[i] = "began the series"
		}
		seen[g] = true
	}
	return why
}

// middle are the records that are neither the first nor the newest of their
// series, of the longest run of one series.
func (h history) middle() (from, to int) {
	for i := 0; i < len(h); {
		j := i + 1
		for j < len(h) && h[j].PodUID == h[i].PodUID && h[j].Began.Equal(h[i].Began) {
			j++
		}
		if j-i-2 > to-from {
			from, to = i+1, j-1
		}
		i = j
	}
	return from, to
}
