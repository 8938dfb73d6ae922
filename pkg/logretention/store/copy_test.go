package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Another file system: what is written is copied, each time that the log is
// looked at.
func TestALogOfAnotherFileSystemIsCopied(t *testing.T) {
	s := newSceneAt(t, smallDisk(t, "size=8m"), t.TempDir())
	st := s.open()
	s.writes(0, line(1))
	l := s.begin(st, 0)
	s.writes(0, line(2))
	s.link(l, 0)
	must(t, st.Close())

	st = s.open()
	l = st.Lives()[0]
	s.writes(0, line(3))
	if i := s.link(l, 0); i != 0 {
		t.Errorf("segment %d", i)
	}
	must(t, os.Remove(s.logPath(0)))
	s.writes(0, line(4)) // two files in one second
	s.link(l, 0)
	must(t, os.Remove(s.logPath(0)))
	e := s.publish(st, l, time.Second)
	if err := sameText(filepath.Join(s.opts.Root, e.Path), e.Segments, e.Gaps, line(1)+line(2)+line(3)+line(4)); err != nil {
		t.Error(err)
	}
	if len(e.Segments) != 2 || !e.Complete() {
		t.Errorf("segments %+v, gaps %+v", e.Segments, e.Gaps)
	}
}

// The number of a removed file's inode is given to the next file at once.
func TestACopyIsNotContinuedWithAnotherFile(t *testing.T) {
	for name, second := range map[string]string{"shorter": line(7), "longer": line(7) + line(8) + line(9)} {
		t.Run(name, func(t *testing.T) {
			s := newSceneAt(t, smallDisk(t, "size=8m"), t.TempDir())
			st := s.open()
			s.writes(0, line(1)+line(2))
			l := s.begin(st, 0)
			// The same inode with another text stands for another file.
			must(t, os.WriteFile(s.logPath(0), []byte(second), 0o640))
			if i := s.link(l, 0); i != 1 {
				t.Errorf("segment %d", i)
			}
			e := s.publish(st, l, time.Second)
			if err := sameText(filepath.Join(s.opts.Root, e.Path), e.Segments, e.Gaps, line(1)+line(2)+second); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCopyingIsBounded(t *testing.T) {
	s := newSceneAt(t, smallDisk(t, "size=8m"), t.TempDir())
	s.opts.Retention.MaxBytesPerRecord, s.opts.Retention.Head = "256Ki", "16Ki"
	st := s.open()
	s.writes(0, big)
	l := s.begin(st, 0)
	must(t, l.Prune(context.Background()))
	s.writes(0, big+big)
	s.link(l, 0)
	must(t, l.Prune(context.Background()))
	e := s.publish(st, l, time.Second)
	if e.Meta.Bytes() > 256<<10+64<<10 || e.Meta.Bytes() < 128<<10 {
		t.Errorf("%d bytes", e.Meta.Bytes())
	}
	if err := sameText(filepath.Join(s.opts.Root, e.Path), e.Segments, e.Gaps, big+big+big); err != nil {
		t.Error(err)
	}
}

// Some file systems allow few links to one file (ext4: 65000).
func TestAFileWithTooManyLinksIsCopied(t *testing.T) {
	s := newSceneAt(t, t.TempDir(), t.TempDir())
	st := s.open()
	s.writes(0, line(1))
	l := func() *Live { l, err := st.Begin(birth(0)); must(t, err); return l }()
	links := filepath.Join(s.pods, "links")
	must(t, os.Mkdir(links, 0o700))
	for n := 0; ; n++ {
		err := os.Link(s.logPath(0), filepath.Join(links, fmt.Sprint(n)))
		if errors.Is(err, unix.EMLINK) {
			break
		}
		must(t, err)
		if n > 70000 {
			t.Skip("this file system knows no limit")
		}
	}
	s.link(l, 0)
	s.writes(0, line(2))
	s.link(l, 0)
	e := s.publish(st, l, time.Second)
	if got := read(t, filepath.Join(s.opts.Root, e.Path, "log.0")); got != line(1)+line(2) {
		t.Errorf("log %q", got)
	}
}
