package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"golang.org/x/sys/unix"
)

// reconcile compares what is written about a log with the files that are
// there, and writes down the difference as gaps: nothing that lost a part is
// shown as whole. It tells whether it changed anything.
func (s *Store) reconcile(dir string, segments *[]record.Segment, gaps *[]record.Gap) (changed bool) {
	segs, holes := slices.Clone(*segments), slices.Clone(*gaps)
	for i := 0; i < len(segs); {
		seg := &segs[i]
		f, err := stat(filepath.Join(dir, seg.Name))
		if err != nil {
			if other, ok := otherForm(dir, *seg); ok {
				seg.Name, changed = other, true
				continue
			}
			segs, holes = dropSegment(segs, holes, i, fmt.Sprintf("%s is missing", seg.Name))
			changed = true
			continue
		}
		switch {
		case seg.Compressed():
			if size, err := gzipSize(filepath.Join(dir, seg.Name)); err != nil || size != uint32(seg.Bytes) {
				g := record.Gap{Before: i + 1, Bytes: -1, Reason: seg.Name + " is damaged"}
				if !slices.Contains(holes, g) {
					holes, changed = append(holes, g), true
				}
			}
		case f.size < seg.Bytes:
			holes = append(holes, record.Gap{Before: i + 1, Bytes: seg.Bytes - f.size, Reason: seg.Name + " is shorter than it was"})
			seg.Bytes, changed = f.size, true
		case f.size > seg.Bytes:
			seg.Bytes, changed = f.size, true
		}
		i++
	}
	listed := map[int]bool{}
	for _, seg := range segs {
		n, _, _ := record.ParseSegment(seg.Name)
		listed[n] = true
	}
	for _, name := range segmentFiles(dir) {
		if n, _, _ := record.ParseSegment(name); listed[n] {
			// This is done at each look: of a log of many pieces none may be
			// compared with all others.
			continue
		}
		var added bool
		if segs, holes, added = insertSegment(dir, segs, holes, name); added {
			changed = true
		}
	}
	if changed {
		*segments, *gaps = segs, normalGaps(holes)
	}
	return changed
}

// otherForm is log.N of log.N.gz, or the reverse, where only that exists.
func otherForm(dir string, seg record.Segment) (string, bool) {
	n, compressed, _ := record.ParseSegment(seg.Name)
	other := record.SegmentName(n, !compressed)
	_, err := stat(filepath.Join(dir, other))
	return other, err == nil
}

// insertSegment adds a file that is not listed, unless it is another name or
// form of one that is.
func insertSegment(dir string, segs []record.Segment, gaps []record.Gap, name string) ([]record.Segment, []record.Gap, bool) {
	n, _, _ := record.ParseSegment(name)
	at := len(segs)
	f, err := stat(filepath.Join(dir, name))
	if err != nil {
		return segs, gaps, false
	}
	for i, seg := range segs {
		m, _, _ := record.ParseSegment(seg.Name)
		if m == n {
			return segs, gaps, false
		}
		if other, err := stat(filepath.Join(dir, seg.Name)); err == nil && other.id == f.id {
			// The hook and the agent linked it at the same moment. With two
			// names it would never count as ours.
			_ = os.Remove(filepath.Join(dir, name))
			return segs, gaps, false
		}
		if m > n {
			at = min(at, i)
		}
	}
	segs = slices.Insert(slices.Clone(segs), at, record.Segment{Name: name, Bytes: textSize(dir, name, f)})
	gaps = slices.Clone(gaps)
	for i := range gaps {
		if gaps[i].Before > at {
			gaps[i].Before++
		}
	}
	return segs, gaps, true
}

// segmentFiles are the names of segments in a directory, in the order of N.
func segmentFiles(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if _, _, ok := record.ParseSegment(e.Name()); ok && e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		m, _, _ := record.ParseSegment(a)
		n, _, _ := record.ParseSegment(b)
		return m - n
	})
	return names
}

func textSize(dir, name string, f file) int64 {
	if _, compressed, _ := record.ParseSegment(name); !compressed {
		return f.size
	}
	size, err := gzipSize(filepath.Join(dir, name))
	if err != nil {
		return 0
	}
	return int64(size)
}

// errNotGzip: a file does not begin or end as gzip does.
var errNotGzip = errors.New("not gzip, or cut short")

// gzipSize is the size, modulo 2^32, of the text of a gzip file of one member,
// as its last four bytes say (RFC 1952).
func gzipSize(path string) (uint32, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return gzipSizeOf(f)
}

func gzipSizeOf(f *os.File) (uint32, error) {
	const smallest = 18 // an empty text
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	var head [2]byte
	var tail [4]byte
	if info.Size() < smallest {
		return 0, fmt.Errorf("%s: %w", f.Name(), errNotGzip)
	}
	if _, err := f.ReadAt(head[:], 0); err != nil {
		return 0, err
	}
	if _, err := f.ReadAt(tail[:], info.Size()-4); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	if head != [2]byte{0x1f, 0x8b} {
		return 0, fmt.Errorf("%s: %w", f.Name(), errNotGzip)
	}
	return binary.LittleEndian.Uint32(tail[:]), nil
}
