package store

import (
	"io"
	"path/filepath"
	"slices"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/retention"
)

// sacrifice frees what an ended attempt holds alone, where the disk has not
// even room for the plan of a cut: all of it but the last bytes, which are held
// in memory meanwhile. A process that ends in between leaves a log whose
// segments are missing, and the next one declares them as gaps: capture.json
// lists them.
func (l *Live) sacrifice() error {
	var tail []byte
	var kept record.Segment
	var lost []string
	for _, seg := range l.segments {
		f, err := stat(filepath.Join(l.dir, seg.Name))
		if err != nil || f.ours() == 0 {
			continue
		}
		lost = append(lost, seg.Name)
		if kept, tail = seg, nil; !seg.Compressed() {
			tail = lastBytes(filepath.Join(l.dir, seg.Name), f.size)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	l.refresh()
	l.store.Log.Warn("disk is full: gives up most of a log", "containerID", l.birth.ContainerID, "segments", len(lost))
	if err := removeFiles(l.dir, lost...); err != nil {
		return err
	}
	l.store.Step("sacrifice:removed")
	for i := len(l.segments) - 1; i >= 0; i-- {
		seg := l.segments[i]
		if !slices.Contains(lost, seg.Name) {
			continue
		}
		if seg.Name == kept.Name && len(tail) > 0 && create(filepath.Join(l.dir, seg.Name), tail, false) == nil {
			hole := record.Gap{Before: i, Bytes: seg.Bytes - int64(len(tail)), Reason: metaOnly.reason}
			// What was known of gaps within it is part of this one.
			for _, g := range l.gaps {
				if g.Before == i && g.Offset > 0 {
					hole.Bytes = addBytes(hole.Bytes, g.Bytes)
				}
			}
			l.gaps = slices.DeleteFunc(slices.Clone(l.gaps), func(g record.Gap) bool { return g.Before == i && g.Offset > 0 })
			l.gaps = normalGaps(append(l.gaps, hole))
			l.segments[i].Bytes = int64(len(tail))
			continue
		}
		l.segments, l.gaps = dropSegment(l.segments, l.gaps, i, metaOnly.reason)
	}
	l.unsaved = true
	l.save()
	l.adopt()
	return nil
}

// lastBytes are the last MetadataBytes of a file.
func lastBytes(path string, size int64) []byte {
	f, err := openSegment(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	tail, err := io.ReadAll(io.NewSectionReader(f, max(0, size-retention.MetadataBytes), retention.MetadataBytes))
	if err != nil {
		return nil
	}
	return tail
}
