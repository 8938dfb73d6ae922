package store

import (
	"context"
	"slices"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/retention"
)

// Prune keeps a running attempt within MaxBytesPerRecord: of what the kubelet
// has let go of, the beginning and the newest stay. Without it, keeping links
// would defeat the kubelet's rotation. Where less is free than should be, less
// stays, down to a tail.
func (l *Live) Prune(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return l.change("prune the log", func() error {
		l.refresh()
		most, b := l.store.limits.record, l.store.trimmed("dropped from the middle of a long log")
		disk := l.store.disk()
		if allowed := retention.For(l.store.Retention, disk.Size).Allowed(most, disk.Free); allowed < most {
			most = max(allowed, min(most, retention.TailBytes))
			b = scarce(most)
		}
		var ours int64
		files := 0
		for _, seg := range lookAt(l.dir, l.segments, l.pinned()) {
			if !seg.pinned && seg.ours > 0 {
				ours += seg.ours
				files++
			}
		}
		if ours <= most+retention.Slack && files <= maxSegments {
			return nil
		}
		// The sizes so far are what a gap is measured by, should the process
		// end in the middle.
		l.unsaved = true
		l.save()
		return l.shrink(l.pinned(), b)
	})
}

// pinned is the segment that may still be written to, also where its last other
// name is gone: the newest, unless it is a copy.
func (l *Live) pinned() int {
	last := len(l.segments) - 1
	if last >= 0 && slices.ContainsFunc(l.copies, func(c copied) bool { return c.Name == l.segments[last].Name }) {
		return -1
	}
	return last
}

// resized are the copies after their files have been cut.
func (c copies) resized(segments []record.Segment) copies {
	c = slices.Clone(c)
	for i := range c {
		for _, seg := range segments {
			if seg.Name == c[i].Name {
				c[i].Size = seg.Bytes
			}
		}
	}
	return c
}
