package store

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/retention"
)

// lineWindow is how far a cut is moved to come to the end of a line.
const lineWindow = 64 << 10

// What is left of logs on the lower rungs.
var (
	tailOnly = scarce(retention.TailBytes)
	metaOnly = budget{tail: retention.MetadataBytes, reason: "dropped for lack of room"}
)

// scarce leaves so many bytes of a log, most of them of its end.
func scarce(bytes int64) budget {
	return budget{head: bytes / 8, tail: bytes - bytes/8, reason: "dropped for lack of room"}
}

func (s *Store) trimmed(reason string) budget {
	return budget{head: s.limits.head, tail: s.limits.record - s.limits.head, reason: reason}
}

// shrinkable looks at segments; pinned is the index of one that is being
// written to, or -1.
func lookAt(dir string, segs []record.Segment, pinned int) []shrinkable {
	out := make([]shrinkable, len(segs))
	for i, seg := range segs {
		out[i] = shrinkable{text: seg.Bytes, pinned: i == pinned}
		if f, err := stat(filepath.Join(dir, seg.Name)); err == nil {
			out[i].ours = f.ours()
		}
	}
	return out
}

// shrink makes the new files and the plan for what is left of a log. Nothing
// has changed until the plan is carried out.
func (s *Store) shrink(dir string, segs []record.Segment, gaps []record.Gap, pinned int, b budget) (plan, []record.Segment, []record.Gap, error) {
	shares := split(lookAt(dir, segs, pinned), b)
	var p plan
	cuts := map[int]cut{}
	for i, x := range shares {
		switch {
		case x.whole:
			continue
		case x.none():
			p.Drop = append(p.Drop, segs[i].Name)
			continue
		}
		n, compressed, _ := record.ParseSegment(segs[i].Name)
		name := record.SegmentName(n, false)
		c, err := s.cutSegment(dir, segs[i].Name, temporary+name, x)
		if err != nil {
			return plan{}, nil, nil, errors.Join(err, removeFiles(dir, temporaryNames(append(p.Place, name))...))
		}
		cuts[i] = c
		p.Place = append(p.Place, name)
		if compressed {
			p.Drop = append(p.Drop, segs[i].Name)
		}
		s.Step("shrink:cut")
	}
	newSegs, newGaps := apply(segs, gaps, shares, cuts, b.reason)
	return p, newSegs, newGaps, nil
}

// cutSegment writes beginning and end of a segment's text to a new file, in
// constant memory. Cuts are moved to line ends if those are near.
func (s *Store) cutSegment(dir, from, to string, x share) (c cut, err error) {
	text, size, closeText, err := openText(filepath.Join(dir, from))
	if err != nil {
		return cut{}, err
	}
	defer closeText()
	path := filepath.Join(dir, to)
	if err := create(path, nil, false); err != nil {
		return cut{}, err
	}
	out, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return cut{}, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if err := s.failing("write", path); err != nil {
		return cut{}, err
	}
	c.text = size
	if c.head, err = copyHead(out, text, min(x.head, size)); err != nil {
		return cut{}, err
	}
	// The position in the text is behind the head as it was asked for.
	at := min(x.head, size)
	start := max(at, size-x.tail)
	if _, err := io.CopyN(io.Discard, text, start-at); err != nil {
		return cut{}, err
	}
	if c.tail, err = copyTail(out, text, size-start, start > 0); err != nil {
		return cut{}, err
	}
	return c, out.Sync()
}

// openText opens a segment and tells the size of its text, for which a
// compressed one is read to its end.
func openText(path string) (text io.Reader, size int64, done func(), err error) {
	f, err := openSegment(path)
	if err != nil {
		return nil, 0, nil, err
	}
	done = func() { _ = f.Close() }
	if _, compressed, _ := record.ParseSegment(filepath.Base(path)); !compressed {
		info, err := f.Stat()
		if err != nil {
			done()
			return nil, 0, nil, err
		}
		return io.NewSectionReader(f, 0, info.Size()), info.Size(), done, nil
	}
	unzip, err := gzip.NewReader(bufio.NewReader(f))
	if err == nil {
		size, err = io.Copy(io.Discard, unzip)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err == nil {
		err = unzip.Reset(bufio.NewReader(f))
	}
	if err != nil {
		done()
		return nil, 0, nil, fmt.Errorf("%s: %w", path, err)
	}
	return unzip, size, done, nil
}

// copyHead writes n bytes, less what comes after their last line end.
func copyHead(out *os.File, text io.Reader, n int64) (int64, error) {
	if n == 0 {
		return 0, nil
	}
	if _, err := io.CopyN(out, text, n); err != nil {
		return 0, err
	}
	window := make([]byte, min(n, lineWindow))
	in, err := os.Open(out.Name())
	if err != nil {
		return 0, err
	}
	defer in.Close()
	if _, err := in.ReadAt(window, n-int64(len(window))); err != nil {
		return 0, err
	}
	if at := bytes.LastIndexByte(window, '\n'); at >= 0 {
		n -= int64(len(window) - at - 1)
	}
	// The file is this function's caller's, and has one name.
	if err := out.Truncate(n); err != nil {
		return 0, err
	}
	_, err = out.Seek(n, io.SeekStart)
	return n, err
}

// copyTail writes the n bytes that are left, less what belongs to a line that
// began before.
func copyTail(out io.Writer, text io.Reader, n int64, within bool) (int64, error) {
	r := bufio.NewReaderSize(io.LimitReader(text, n), lineWindow)
	if within {
		window, err := r.Peek(lineWindow)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if at := bytes.IndexByte(window, '\n'); at >= 0 && at+1 < len(window) {
			if _, err := r.Discard(at + 1); err != nil {
				return 0, err
			}
		}
	}
	return io.Copy(out, r)
}

// shrinkRecord cuts a record's log.
func (s *Store) shrinkRecord(k *kept, b budget) error {
	dir := s.path(k.Path)
	p, segs, gaps, err := s.shrink(dir, k.Segments, k.Gaps, -1, b)
	if err != nil {
		return err
	}
	meta := k.Meta
	meta.Segments, meta.Gaps = segs, gaps
	return s.changeFiles(k, p, meta)
}

// changeFiles carries out a plan after which the record's facts are meta.
func (s *Store) changeFiles(k *kept, p plan, meta record.Meta) error {
	p.Target = record.MetaFile
	err := s.carryOut(s.path(k.Path), p, meta)
	if err == nil {
		k.Meta = meta
		s.measure(k)
	} else if again, readErr := s.readRecord(k.Path); readErr == nil {
		*k = *again
	}
	s.indexes.touch(k.Path)
	return err
}

// shrinkLive cuts the log of an attempt that has ended.
func (s *Store) shrinkLive(l *Live, b budget) error { return l.shrink(-1, b) }

func (l *Live) shrink(pinned int, b budget) error {
	s := l.store
	p, segs, gaps, err := s.shrink(l.dir, l.segments, l.gaps, pinned, b)
	if err != nil {
		return err
	}
	next := *l
	next.segments, next.gaps = segs, gaps
	next.copies = l.copies.resized(segs)
	if err := l.become(&next, p); err != nil {
		return err
	}
	return l.saveCopies()
}
