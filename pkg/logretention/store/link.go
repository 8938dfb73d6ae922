package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/safelink"
)

// linkTries bounds how often a name that the hook takes at the same moment is
// tried again.
const linkTries = 16

// AddLink makes the log file the attempt's next segment and returns the
// segment's index. A file is linked once, however often it is given. Where it
// cannot be linked it is copied; then AddLink copies what was written since,
// each time that it is given, the last time when the attempt has ended.
func (l *Live) AddLink(src *safelink.Source) (i int, err error) {
	err = l.change("keep the log", func() error {
		i, err = l.add(src, false)
		return err
	})
	return i, err
}

// AddGzip makes a file that the kubelet has compressed the next segment. Where
// it cannot be linked, the error is one of safelink.CannotLink.
func (l *Live) AddGzip(src *safelink.Source) (i int, err error) {
	err = l.change("keep the compressed log", func() error {
		i, err = l.add(src, true)
		return err
	})
	return i, err
}

// Has tells whether the file is one of the segments.
func (l *Live) Has(src *safelink.Source) bool {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	at := src.Stat()
	i, ok := l.index(inode{at.Dev, at.Ino})
	return ok && l.continues(src, i)
}

func (l *Live) index(id inode) (int, bool) {
	if c, ok := l.copies.of(id); ok {
		i := slices.IndexFunc(l.segments, func(s record.Segment) bool { return s.Name == c.Name })
		return i, i >= 0
	}
	i := slices.Index(l.ids, id)
	return i, i >= 0
}

func (l *Live) add(src *safelink.Source, compressed bool) (int, error) {
	at := src.Stat()
	id := inode{at.Dev, at.Ino}
	if i, ok := l.index(id); ok && l.continues(src, i) {
		return i, l.copyMore(src, i)
	}
	l.copies = l.copies.without(id, "")
	dir, err := os.Open(l.dir)
	if err != nil {
		return -1, err
	}
	defer dir.Close()
	for range linkTries {
		name := record.SegmentName(l.nextNumber(), compressed)
		err = l.store.failing("link", name)
		if err == nil {
			err = l.store.withReserve(func() error { return src.LinkAt(dir, name) })
		}
		l.store.Step("link:made")
		switch {
		case err == nil:
			// The segments before have their final sizes about now: should one
			// get lost, capture.json says how much that was.
			l.refresh()
			size := at.Size
			if f, err := stat(filepath.Join(l.dir, name)); err == nil {
				size = textSize(l.dir, name, f)
			}
			l.append(record.Segment{Name: name, Bytes: size}, id)
			return len(l.segments) - 1, nil
		case errors.Is(err, fs.ErrExist):
			l.adopt()
			if i, ok := l.index(id); ok {
				return i, nil
			}
		case safelink.CannotLink(err) && !compressed:
			return l.copy(src, name, err)
		default:
			return -1, err
		}
	}
	return -1, err
}

func (l *Live) append(seg record.Segment, id inode) {
	l.segments = append(slices.Clone(l.segments), seg)
	l.ids = append(slices.Clone(l.ids), id)
	l.unsaved = true
}

// nextNumber is larger than that of any segment so far, also of those that
// have been dropped since the others were made.
func (l *Live) nextNumber() int {
	next := 0
	for _, seg := range l.segments {
		if n, _, ok := record.ParseSegment(seg.Name); ok {
			next = max(next, n+1)
		}
	}
	return next
}

// AdoptGzip replaces segment i by the kubelet's compressed file of it, if that
// says that its text has the segment's size; then the raw file goes.
func (l *Live) AdoptGzip(i int, src *safelink.Source) error {
	return l.change("adopt the compressed log", func() error {
		if i < 0 || i >= len(l.segments) {
			return fmt.Errorf("segment %d of %d", i, len(l.segments))
		}
		if l.segments[i].Compressed() {
			return nil
		}
		return l.adoptGzip(i, src)
	})
}

func (l *Live) adoptGzip(i int, src *safelink.Source) error {
	n, _, _ := record.ParseSegment(l.segments[i].Name)
	name := record.SegmentName(n, true)
	raw, err := stat(filepath.Join(l.dir, l.segments[i].Name))
	if err != nil {
		return err
	}
	r, err := src.Reader()
	if err != nil {
		return err
	}
	size, err := gzipSizeOf(r)
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	if size != uint32(raw.size) {
		return fmt.Errorf("the compressed file has a text of %d bytes (modulo 2^32), the segment %d", size, raw.size)
	}
	dir, err := os.Open(l.dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := removeFiles(l.dir, temporary+name); err != nil {
		return err
	}
	if err := l.store.withReserve(func() error { return src.LinkAt(dir, temporary+name) }); err != nil {
		return err
	}
	next := *l
	next.segments = slices.Clone(l.segments)
	next.segments[i].Name, next.segments[i].Bytes = name, raw.size
	return l.become(&next, plan{Place: []string{name}, Drop: []string{l.segments[i].Name}})
}

// become carries out a plan after which the attempt is next.
func (l *Live) become(next *Live, p plan) error {
	p.Target = record.CaptureFile
	err := l.store.carryOut(l.dir, p, next.capture())
	if err == nil {
		l.segments, l.gaps, l.copies = next.segments, next.gaps, next.copies
	} else if again, readErr := l.store.readLive(l.birth.ContainerID); readErr == nil {
		l.segments, l.gaps, l.copies = again.segments, again.gaps, again.copies
	}
	l.store.indexes.touchRoot()
	l.adopt()
	return err
}
