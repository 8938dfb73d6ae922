package store

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// hook makes what the OCI hook makes: the directory, birth.json, a link.
func (s *scene) hook(n int, withBirth bool) {
	s.t.Helper()
	b := birth(n)
	b.APIVersion, b.Kind, b.By, b.LogPath = record.APIVersion, record.KindBirth, record.SourceHook, s.logPath(n)
	dir := filepath.Join(s.opts.Root, record.LivePath(b.ContainerID))
	must(s.t, os.MkdirAll(dir, 0o700))
	if withBirth {
		data, err := json.Marshal(b)
		must(s.t, err)
		must(s.t, os.WriteFile(filepath.Join(dir, record.BirthFile), data, 0o600))
	}
	must(s.t, os.Link(s.logPath(n), filepath.Join(dir, "log.0")))
}

func TestTheStoreTakesUpWhatTheHookMade(t *testing.T) {
	s := newScene(t)
	s.writes(0, line(0))
	s.hook(0, true)
	st := s.open()
	if lives := st.Lives(); len(lives) != 1 || lives[0].Birth().By != record.SourceHook || len(lives[0].Segments()) != 1 {
		t.Fatalf("live attempts %+v", lives)
	}
	s.writes(1, line(1))
	s.hook(1, true)
	found, err := st.Rescan()
	if err != nil || len(found) != 1 || found[0].Birth().Attempt.Attempt != 1 {
		t.Fatalf("found %+v, %v", found, err)
	}
	if again, err := st.Rescan(); err != nil || len(again) != 0 {
		t.Errorf("found again %+v, %v", again, err)
	}
	s.writes(2, line(2))
	l := s.begin(st, 2) // and the hook is late
	must(t, os.Link(s.logPath(2), filepath.Join(l.Path(), "log.1")))
	if _, err := st.Rescan(); err != nil || len(l.Segments()) != 1 {
		t.Errorf("one file twice: %+v, %v", l.Segments(), err)
	}
	e := s.publish(st, l, time.Second)
	must(t, os.Remove(s.logPath(2)))
	must(t, st.Tend(context.Background()))
	if k := st.records[e.Path]; k.log == 0 {
		t.Error("a log with one name does not count as ours")
	}
}

func TestABirthThatWasNeverWrittenIsWaitedForThenPutAway(t *testing.T) {
	s := newScene(t)
	s.writes(0, line(0))
	s.hook(0, false)
	dir := filepath.Join(s.opts.Root, record.LivePath(birth(0).ContainerID))
	must(t, os.Chtimes(dir, s.time(), s.time()))
	st := s.open()
	if _, err := os.Lstat(dir); err != nil {
		t.Fatalf("put away at once: %v", err)
	}
	s.pass(2 * time.Minute)
	if found, err := st.Rescan(); err != nil || len(found) != 0 {
		t.Fatalf("found %v, %v", found, err)
	}
	kept, err := filepath.Glob(filepath.Join(s.opts.Root, record.QuarantineDir, "*", "log.0"))
	if err != nil || len(kept) != 1 || read(t, kept[0]) != line(0) {
		t.Errorf("in the quarantine: %v, %v", kept, err)
	}
}

func TestTheHookMayComeAfterTheRecord(t *testing.T) {
	s := newScene(t)
	st := s.open()
	s.writes(0, line(0))
	e := s.publish(st, s.begin(st, 0), time.Second)
	s.hook(0, true)
	if found, err := st.Rescan(); err != nil || len(found) != 0 {
		t.Errorf("found %v, %v", found, err)
	}
	if _, err := os.Lstat(filepath.Join(s.opts.Root, record.LivePath(e.ContainerID))); err == nil {
		t.Error("it is both live and recorded")
	}
}

func TestAFileIsLinkedOnceAndFollowed(t *testing.T) {
	s := newScene(t)
	st := s.open()
	s.writes(0, line(0))
	l := s.begin(st, 0)
	s.writes(0, line(1))
	if i := s.link(l, 0); i != 0 || len(l.Segments()) != 1 {
		t.Errorf("segment %d of %+v", i, l.Segments())
	}
	s.writes(1, line(1))
	if !l.Has(s.source(s.logPath(0))) || l.Has(s.source(s.logPath(1))) {
		t.Error("it does not know its files")
	}
	must(t, l.Refresh())
	if got := l.Segments()[0].Bytes; got != int64(len(line(0)+line(1))) {
		t.Errorf("%d bytes", got)
	}
	// Somebody empties the file in place.
	must(t, os.Truncate(s.logPath(0), 0))
	must(t, l.Refresh())
	if gaps := l.Gaps(); len(gaps) != 1 || gaps[0].Bytes >= 0 {
		t.Errorf("gaps %+v", gaps)
	}
}

// Two rotations in one second have the same name, of which the kubelet keeps
// the second only.
func TestTwoRotationsInOneSecond(t *testing.T) {
	s := newScene(t)
	st := s.open()
	s.writes(0, line(0))
	l := s.begin(st, 0)
	rotated := s.logPath(0) + ".20261130-090000"
	for n := 1; n < 3; n++ {
		must(t, os.Rename(s.logPath(0), rotated))
		s.writes(0, strings.Repeat(line(n), n+1))
		must(t, l.Rotated(n-1, filepath.Base(rotated)))
		if i := s.link(l, 0); i != n {
			t.Fatalf("segment %d, want %d", i, n)
		}
	}
	zip(t, rotated)
	if err := l.AdoptGzip(0, s.source(rotated+".gz")); err == nil {
		t.Error("the second file was taken for the first")
	}
	must(t, l.AdoptGzip(1, s.source(rotated+".gz")))
	e := s.publish(st, l, time.Second)
	want := line(0) + strings.Repeat(line(1), 2) + strings.Repeat(line(2), 3)
	if err := sameText(filepath.Join(s.opts.Root, e.Path), e.Segments, e.Gaps, want); err != nil {
		t.Error(err)
	}
	if len(e.Segments) != 3 || !e.Segments[1].Compressed() || !e.Complete() {
		t.Errorf("segments %+v, gaps %+v", e.Segments, e.Gaps)
	}
}

func TestACompressedFileOfAnotherSizeIsNotAdopted(t *testing.T) {
	s := newScene(t)
	st := s.open()
	s.writes(0, line(0))
	l := s.begin(st, 0)
	other := filepath.Join(filepath.Dir(s.logPath(0)), "0.log.20261130-090000")
	must(t, os.WriteFile(other, []byte("something else"), 0o640))
	zip(t, other)
	if err := l.AdoptGzip(0, s.source(other+".gz")); err == nil {
		t.Error("adopted")
	}
	if segs := l.Segments(); segs[0].Name != "log.0" || read(t, filepath.Join(l.Path(), "log.0")) != line(0) {
		t.Errorf("segments %+v", segs)
	}
	if i, err := l.AddGzip(s.source(other + ".gz")); err != nil || i != 1 || l.Segments()[1].Bytes != int64(len("something else")) {
		t.Errorf("added as %d: %+v, %v", i, l.Segments(), err)
	}
}

func TestPruneKeepsTheBeginningAndTheNewest(t *testing.T) {
	s := newScene(t)
	s.opts.Retention.MaxBytesPerRecord, s.opts.Retention.Head = "1Mi", "64Ki"
	st := s.open()
	s.writes(0, big)
	l := s.begin(st, 0)
	want := big
	for range 9 {
		must(t, os.Remove(s.logPath(0)))
		s.writes(0, big)
		s.link(l, 0)
		want += big
		must(t, l.Prune(context.Background()))
		if err := sameText(l.Path(), l.Segments(), l.Gaps(), want); err != nil {
			t.Fatal(err)
		}
	}
	if gaps := l.Gaps(); len(gaps) != 1 {
		t.Errorf("gaps %+v", gaps)
	}
	if u := st.Usage(); u.Bytes > 1<<20+128<<10 || u.Live != 1 {
		t.Errorf("usage %+v", u)
	}
	// The newest is written to although its name is gone.
	must(t, os.Remove(s.logPath(0)))
	before := l.Segments()
	must(t, l.Prune(context.Background()))
	if after := l.Segments(); after[len(after)-1] != before[len(before)-1] {
		t.Errorf("the segment that is written to was cut: %+v", after)
	}
}

func TestPruneLeavesATailWhereTheDiskIsShort(t *testing.T) {
	s := newScene(t)
	st := s.open()
	l := s.begin3(st)
	must(t, l.Prune(context.Background()))
	if len(l.Gaps()) != 0 {
		t.Fatalf("gaps %+v although there is room", l.Gaps())
	}
	st.Retention.KeepFreePercent = 1000 // half of it is more than any disk has
	must(t, l.Prune(context.Background()))
	if u := st.Usage(); u.Bytes > 256<<10+32<<10 {
		t.Errorf("usage %+v", u)
	}
	if err := sameText(l.Path(), l.Segments(), l.Gaps(), big+big+line(3)); err != nil {
		t.Error(err)
	}
}

func TestLiveAttemptsAreInTheIndex(t *testing.T) {
	s := newScene(t)
	st := s.open()
	s.writes(0, line(0))
	s.begin(st, 0)
	s.pass(10 * time.Second)
	must(t, st.Flush())
	var x record.Index
	must(t, record.Decode([]byte(read(t, filepath.Join(s.opts.Root, record.IndexFile))), &x))
	if len(x.Live) != 1 || len(x.Live[0].Segments) != 1 {
		t.Errorf("live %+v", x.Live)
	}
}

// Somebody removes the whole root under a running agent: what runs can begin
// again, and is recorded with the rest of its log.
func TestARootThatWasRemovedBeginsAgain(t *testing.T) {
	s := newScene(t)
	st := s.open()
	s.writes(0, line(0))
	lost := s.begin(st, 0)
	must(t, os.RemoveAll(s.opts.Root))
	if _, err := st.Rescan(); err != nil || len(st.Lives()) != 0 {
		t.Fatalf("live attempts %+v, %v", st.Lives(), err)
	}
	if err := lost.Refresh(); !errors.Is(err, ErrRecorded) {
		t.Errorf("the one that was lost: %v", err)
	}
	e := s.publish(st, s.begin(st, 0), time.Second)
	if got := read(t, filepath.Join(s.opts.Root, e.Path, "log.0")); got != line(0) {
		t.Errorf("log %q", got)
	}
	// The lock is the file that others find.
	other, err := openLock(filepath.Join(s.opts.Root, lockName))
	must(t, err)
	defer other.Close()
	must(t, st.mutate(func() error {
		if err := unix.Flock(int(other.file.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
			t.Errorf("another process has the lock too: %v", err)
		}
		return nil
	}))
}

// A log of thousands of pieces, as a kubelet that rotates at a few KiB makes
// it, is looked at again at each look, among all others.
func TestALogOfManyPiecesIsLookedAtQuickly(t *testing.T) {
	s := newScene(t)
	st := s.open()
	s.writes(0, line(0))
	l := s.begin(st, 0)
	for n := 1; n < maxSegments; n++ {
		must(t, os.WriteFile(filepath.Join(l.Path(), record.SegmentName(n, false)), []byte(line(n)), 0o600))
	}
	_, err := st.Rescan()
	must(t, err)
	before := computed(t)
	for range 10 {
		_, err := st.Rescan()
		must(t, err)
	}
	if n, took := len(l.Segments()), computed(t)-before; n != maxSegments || took > 5*time.Second {
		t.Errorf("%d pieces, ten looks in %v", n, took)
	}
}

// computed is the processor time of this process so far. Unlike time it does
// not pass while other processes run.
func computed(t *testing.T) time.Duration {
	t.Helper()
	var used unix.Rusage
	must(t, unix.Getrusage(unix.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
