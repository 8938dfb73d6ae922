package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/nodekeeper/nodekeeper/internal/statefile"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/safelink"
	"golang.org/x/sys/unix"
)

// copiesFile says, beside a live attempt, which segments are copies of which
// files, and how far: a copy does not follow its original as a link does.
const copiesFile = ".copies.json"

type copied struct {
	Name string `json:"name"`
	inode
	// Read is the position in the original up to which it has been read.
	Read int64 `json:"read"`
	// Size is the size of the copy at that time.
	Size int64 `json:"size"`
}

type copies []copied

func (c copies) of(id inode) (copied, bool) {
	i := slices.IndexFunc(c, func(c copied) bool { return c.inode == id })
	if i < 0 {
		return copied{}, false
	}
	return c[i], true
}

// without leaves out the copies of an original and those of a name.
func (c copies) without(id inode, name string) copies {
	return slices.DeleteFunc(slices.Clone(c), func(c copied) bool { return c.inode == id || c.Name == name })
}

func readCopies(dir string) copies {
	data, err := statefile.Read(filepath.Join(dir, copiesFile), record.MaxMetaBytes)
	if err != nil {
		return nil
	}
	var c copies
	if json.Unmarshal(data, &c) != nil {
		return nil
	}
	for _, x := range c {
		if _, _, ok := record.ParseSegment(x.Name); !ok {
			return nil
		}
		// The process ended after it had copied more and before it wrote that
		// down: it is copied again.
		path := filepath.Join(dir, x.Name)
		if f, err := stat(path); err == nil && f.links == 1 && f.size > x.Size {
			_ = os.Truncate(path, x.Size)
		}
	}
	return c
}

// copy makes a segment of a file that cannot be linked, and says so.
func (l *Live) copy(src *safelink.Source, name string, why error) (int, error) {
	at := src.Stat()
	path := filepath.Join(l.dir, name)
	id := inode{at.Dev, at.Ino}
	l.copies = append(l.copies.without(id, name), copied{Name: name, inode: id})
	// Before there is a file: one that nobody calls a copy would be taken for
	// a log of its own, and copied once more.
	if err := l.saveCopies(); err != nil {
		return -1, err
	}
	if err := l.store.withReserve(func() error { return create(path, nil, false) }); err != nil {
		return -1, err
	}
	f, err := stat(path)
	if err != nil {
		return -1, err
	}
	l.store.Log.Info("a log cannot be linked and is copied: what is written after the last copy is lost if its file is removed",
		"containerID", l.birth.ContainerID, "log", l.birth.LogPath, "reason", why)
	l.append(record.Segment{Name: name}, f.id)
	i := len(l.segments) - 1
	return i, l.copyMore(src, i)
}

// compared is how much of a copy's end is compared with its original.
const compared = 1 << 10

// continues tells whether a file is still the one that segment i was made of.
// A link keeps its inode; the number of a copied file that is gone is given to
// the next one.
func (l *Live) continues(src *safelink.Source, i int) bool {
	at := src.Stat()
	c, ok := l.copies.of(inode{at.Dev, at.Ino})
	if !ok {
		return true
	}
	n := min(compared, c.Read, l.segments[i].Bytes)
	if at.Size < c.Read {
		return false
	}
	original, err := src.Reader()
	if err != nil {
		return true // copying says why
	}
	defer original.Close()
	ours, err := openSegment(filepath.Join(l.dir, l.segments[i].Name))
	if err != nil {
		return false
	}
	defer ours.Close()
	a, b := make([]byte, n), make([]byte, n)
	_, errA := original.ReadAt(a, c.Read-n)
	_, errB := ours.ReadAt(b, l.segments[i].Bytes-n)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// copyMore copies what was written since; nothing of a segment that is a link.
// It copies MaxBytesPerRecord at most: of more than that, the newest.
func (l *Live) copyMore(src *safelink.Source, i int) error {
	at := src.Stat()
	n := slices.IndexFunc(l.copies, func(c copied) bool { return c.inode == inode{at.Dev, at.Ino} })
	if n < 0 {
		return nil
	}
	list := slices.Clone(l.copies)
	c, seg := &list[n], &l.segments[i]
	from := c.Read
	if skip := at.Size - from - l.store.limits.record; skip > 0 {
		from += skip
		l.gaps = normalGaps(append(slices.Clone(l.gaps), record.Gap{Before: i, Offset: seg.Bytes, Bytes: skip, Reason: "more than is copied of a log that cannot be linked"}))
		l.unsaved = true
		l.save()
	}
	if from == at.Size {
		return nil
	}
	l.store.Step("copy:begun")
	done, err := l.store.appendTo(filepath.Join(l.dir, seg.Name), seg.Bytes, src, from, at.Size)
	l.segments = slices.Clone(l.segments)
	l.segments[i].Bytes += done
	l.store.Step("copy:appended")
	c.Read, c.Size = from+done, l.segments[i].Bytes
	l.copies, l.unsaved = list, true
	return errors.Join(err, l.saveCopies())
}

func (l *Live) saveCopies() error {
	if len(l.copies) == 0 {
		return nil
	}
	err := l.store.putJSON(filepath.Join(l.dir, copiesFile), l.copies, false)
	l.store.Step("copy:noted")
	return err
}

// appendTo writes src[from:to] at position at of a file, and tells how much of
// it is there.
func (s *Store) appendTo(path string, at int64, src *safelink.Source, from, to int64) (done int64, err error) {
	r, err := src.Reader()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	w, err := os.OpenFile(path, os.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := s.failing("write", path); err != nil {
		return 0, err
	}
	done, err = io.Copy(io.NewOffsetWriter(w, at), io.NewSectionReader(r, from, to-from))
	return done, err
}
