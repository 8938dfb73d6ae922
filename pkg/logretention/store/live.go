package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nodekeeper/nodekeeper/internal/statefile"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// Live is an attempt that has not been recorded yet: .live/CONTAINERID. The
// store's mutex guards it. Its methods fail with ErrRecorded once it has been
// published.
type Live struct {
	store    *Store
	dir      string
	birth    record.Birth
	segments []record.Segment
	ids      []inode // of the segments' files
	gaps     []record.Gap
	copies   copies
	// unsaved is set while capture.json says something else.
	unsaved bool
	// done is the published record.
	done *kept
}

// Begin makes the directory of a live attempt and writes b into it, or returns
// the attempt that is known already, by the hook for example: what was written
// first stays. Of b, APIVersion, Kind, BootID and Seen are filled in if empty.
// The error is ErrRecorded for an attempt that has been recorded.
func (s *Store) Begin(b record.Birth) (*Live, error) {
	b.APIVersion, b.Kind = record.APIVersion, record.KindBirth
	if b.BootID == "" {
		b.BootID = s.BootID
	}
	if b.Seen.IsZero() {
		b.Seen = s.Now().UTC()
	}
	data, err := encode(b)
	if err == nil {
		err = record.Decode(data, new(record.Birth))
	}
	if err != nil {
		return nil, fmt.Errorf("begin attempt: %w", err)
	}
	var l *Live
	err = s.mutate(func() error {
		l, err = s.begin(b, data)
		return errors.Join(err, s.flushLive())
	})
	if err != nil {
		return nil, fmt.Errorf("begin attempt of container %s: %w", b.ContainerID, err)
	}
	return l, nil
}

func (s *Store) begin(b record.Birth, data []byte) (*Live, error) {
	if l, ok := s.lives[b.ContainerID]; ok {
		return l, nil
	}
	if _, ok := s.byID[b.ContainerID]; ok {
		return nil, ErrRecorded
	}
	dir := s.path(liveDir(b.ContainerID))
	err := s.withReserve(func() error { return os.Mkdir(dir, 0o700) })
	fresh := err == nil
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	s.Step("begin:directory")
	if err := s.writeBirth(dir, data); err != nil {
		if fresh {
			// Only if it is still empty: the hook may have linked a log.
			_ = os.Remove(dir)
		}
		return nil, err
	}
	s.Step("begin:birth")
	l, err := s.readLive(b.ContainerID)
	if err != nil {
		return nil, err
	}
	s.addLive(l)
	return l, nil
}

// writeBirth writes birth.json unless there is one that can be read: whoever
// saw the attempt first knows best when it began.
func (s *Store) writeBirth(dir string, data []byte) error {
	path := filepath.Join(dir, record.BirthFile)
	if _, err := readBirth(dir); err == nil {
		return nil
	}
	return s.put(path, data, false)
}

func readBirth(dir string) (record.Birth, error) {
	var b record.Birth
	data, err := statefile.Read(filepath.Join(dir, record.BirthFile), record.MaxMetaBytes)
	if err == nil {
		err = record.Decode(data, &b)
	}
	if err == nil && b.ContainerID != filepath.Base(dir) {
		err = fmt.Errorf("%s is of container %s", record.BirthFile, b.ContainerID)
	}
	return b, err
}

func (s *Store) addLive(l *Live) {
	s.lives[l.birth.ContainerID] = l
	s.indexes.touchRoot()
}

// Lives are the attempts that have not been recorded yet, in the order of
// their container IDs.
func (s *Store) Lives() []*Live {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sortedLives()
}

func (s *Store) sortedLives() []*Live {
	out := make([]*Live, 0, len(s.lives))
	for _, l := range s.lives {
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b *Live) int { return strings.Compare(a.birth.ContainerID, b.birth.ContainerID) })
	return out
}

// adopt brings the segments in line with the files, of which the hook may have
// made more.
func (l *Live) adopt() {
	if l.store.reconcile(l.dir, &l.segments, &l.gaps) {
		l.unsaved = true
	}
	l.ids = make([]inode, len(l.segments))
	for i, seg := range l.segments {
		if f, err := stat(filepath.Join(l.dir, seg.Name)); err == nil {
			l.ids[i] = f.id
		}
	}
}

// Birth is what was known when the attempt began.
func (l *Live) Birth() record.Birth {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	return l.birth
}

// Segments are the pieces of the log so far; sizes are those of the last look.
func (l *Live) Segments() []record.Segment {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	return slices.Clone(l.segments)
}

// Gaps are what is known to be missing so far.
func (l *Live) Gaps() []record.Gap {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	return slices.Clone(l.gaps)
}

// Path is the attempt's directory.
func (l *Live) Path() string { return l.dir }

// change runs a change of a live attempt and writes capture.json after it. That
// it could not be written is no error: the files say the same, but for gaps and
// rotated names, and it is tried again with the next change.
func (l *Live) change(doing string, act func() error) error {
	err := l.store.mutate(func() error {
		if l.done != nil {
			return ErrRecorded
		}
		err := act()
		l.save()
		return errors.Join(err, l.store.flushLive())
	})
	if err != nil {
		return fmt.Errorf("%s of container %s: %w", doing, l.birth.ContainerID, err)
	}
	return nil
}

func (l *Live) save() {
	if !l.unsaved {
		return
	}
	l.store.indexes.touchRoot()
	err := l.store.putJSON(filepath.Join(l.dir, record.CaptureFile), l.capture(), false)
	if err != nil {
		l.store.Log.Warn("cannot write what was captured", "path", l.dir, "error", err)
		return
	}
	l.unsaved = false
	l.store.Step("live:saved")
}

func (l *Live) capture() record.Capture {
	return record.Capture{
		APIVersion: record.APIVersion, Kind: record.KindCapture,
		Segments: orEmpty(l.segments), Gaps: l.gaps, BornBy: []record.Source{l.birth.By},
	}
}

func orEmpty(segments []record.Segment) []record.Segment {
	if segments == nil {
		return []record.Segment{}
	}
	return segments
}

// AddGap declares that a part of the log is missing.
func (l *Live) AddGap(g record.Gap) error {
	return l.change("declare a gap in the log", func() error {
		if g.Before < 0 || g.Before > len(l.segments) || g.Offset < 0 {
			return fmt.Errorf("gap before %d of %d segments, offset %d", g.Before, len(l.segments), g.Offset)
		}
		l.gaps, l.unsaved = normalGaps(append(l.gaps, g)), true
		return nil
	})
}

// Rotated notes the name that the kubelet gave to segment i.
func (l *Live) Rotated(i int, name string) error {
	return l.change("rotate the log", func() error {
		if i < 0 || i >= len(l.segments) {
			return fmt.Errorf("segment %d of %d", i, len(l.segments))
		}
		if l.segments[i].Rotated != name {
			l.segments = slices.Clone(l.segments)
			l.segments[i].Rotated, l.unsaved = name, true
		}
		return nil
	})
}

// Refresh looks at the sizes of the segments again. It writes nothing unless
// something got lost.
func (l *Live) Refresh() error {
	return l.change("look at the log", func() error { l.refresh(); return nil })
}

func (l *Live) refresh() {
	l.segments = slices.Clone(l.segments)
	for i := range l.segments {
		seg := &l.segments[i]
		f, err := stat(filepath.Join(l.dir, seg.Name))
		switch {
		case err != nil:
			l.adopt()
			return
		case seg.Compressed() || f.size == seg.Bytes:
		case f.size < seg.Bytes:
			// Somebody emptied the live file (conmon does, under CRI-O's
			// deprecated log_size_max), and how much it had grown by then is
			// not known.
			l.gaps = normalGaps(append(slices.Clone(l.gaps), record.Gap{Before: i, Bytes: -1, Reason: seg.Name + " was cut by somebody else"}))
			seg.Bytes, l.unsaved = f.size, true
		default:
			seg.Bytes = f.size
		}
	}
}
