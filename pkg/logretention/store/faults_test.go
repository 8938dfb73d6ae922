package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"golang.org/x/sys/unix"
)

// smallDisk mounts a tmpfs.
func smallDisk(t *testing.T, options string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting a small file system needs root")
	}
	dir := t.TempDir()
	if err := unix.Mount("nodekeeper-test", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("mounting a small file system is not allowed here: %v", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(dir, 0)) })
	return dir
}

// fill takes all room of a disk and returns what gives it back.
func fill(t *testing.T, dir string) func() {
	t.Helper()
	path := filepath.Join(dir, "filler")
	f, err := os.Create(path)
	must(t, err)
	block := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(block)
	}
	if !isFull(err) {
		t.Fatal(err)
	}
	must(t, f.Close())
	return func() { must(t, os.Remove(path)) }
}

// takeInodes takes all inodes of a disk and returns what gives them back.
func takeInodes(t *testing.T, dir string) func() {
	t.Helper()
	top := filepath.Join(dir, "inodes")
	must(t, os.Mkdir(top, 0o700))
	for n := 0; ; n++ {
		err := os.WriteFile(filepath.Join(top, fmt.Sprint(n)), nil, 0o600)
		if isFull(err) {
			break
		}
		must(t, err)
	}
	return func() { must(t, os.RemoveAll(top)) }
}

func TestTheReserveLetsARecordBeMadeOnAFullDisk(t *testing.T) {
	for name, c := range map[string]struct {
		options string
		fill    func(*testing.T, string) func()
	}{
		"no bytes":  {"size=32m", fill},
		"no inodes": {"size=32m,nr_inodes=400", takeInodes},
	} {
		t.Run(name, func(t *testing.T) {
			dir := smallDisk(t, c.options)
			s := newSceneAt(t, dir, dir)
			st := s.open()
			if !st.Usage().Reserve {
				t.Fatal("no reserve on an empty disk")
			}
			s.writes(0, text(100<<10))
			empty := c.fill(t, dir)
			e := s.publish(st, s.begin(st, 0), time.Second)
			if !e.Complete() || read(t, filepath.Join(s.opts.Root, e.Path, "log.0")) != text(100<<10) {
				t.Errorf("record %+v", e)
			}
			if st.Usage().Reserve {
				t.Error("the reserve is still there")
			}
			empty()
			must(t, st.Tend(context.Background()))
			if !st.Usage().Reserve {
				t.Error("the reserve was not taken back")
			}
			must(t, st.Close())
			if x := s.open().Index(); len(x.Records) != 1 {
				t.Errorf("%d records after opening again", len(x.Records))
			}
		})
	}
}

func TestTheLadderOfAFullDisk(t *testing.T) {
	t.Run("the log becomes its tail", func(t *testing.T) {
		dir := smallDisk(t, "size=8m")
		s := newSceneAt(t, dir, dir)
		st := s.open()
		s.writes(0, big)
		l := s.begin(st, 0)
		for range 4 {
			must(t, os.Remove(s.logPath(0)))
			s.writes(0, big)
			s.link(l, 0)
		}
		must(t, os.Remove(s.logPath(0)))
		fill(t, dir)
		e := s.publish(st, l, time.Second)
		if e.Complete() || e.Meta.Bytes() < 4<<10 {
			t.Errorf("segments %+v, gaps %+v", e.Segments, e.Gaps)
		}
		if err := sameText(filepath.Join(s.opts.Root, e.Path), e.Segments, e.Gaps, strings.Repeat(big, 5)); err != nil {
			t.Error(err)
		}
	})
	t.Run("older records make room", func(t *testing.T) {
		dir := smallDisk(t, "size=8m")
		s := newSceneAt(t, dir, dir)
		s.opts.Retention.First, s.opts.Retention.Last = 1, 2
		st := s.open()
		for n := range 4 {
			s.crashes(st, n, big)
		}
		s.writes(4, line(4))
		l := s.begin(st, 4)
		fill(t, dir)
		if e := s.publish(st, l, time.Second); !e.Complete() {
			t.Errorf("gaps %+v", e.Gaps)
		}
		if u := st.Usage(); u.Evicted == 0 || u.Records > 4 {
			t.Errorf("usage %+v", u)
		}
	})
	t.Run("in the end only a number is left", func(t *testing.T) {
		dir := smallDisk(t, "size=8m")
		s := newSceneAt(t, dir, dir)
		st := s.open()
		s.writes(0, line(1))
		l := s.begin(st, 0)
		empty := fill(t, dir)
		if _, err := st.Publish(l, s.meta(time.Second)); !errors.Is(err, ErrDropped) {
			t.Fatalf("error %v", err)
		}
		empty()
		must(t, st.Tend(context.Background()))
		must(t, st.Close())
		x := s.open().Index()
		if x.Dropped["kube-system_etcd-0/etcd"] != 1 || len(x.Live)+len(x.Records) != 0 {
			t.Errorf("index %+v", x)
		}
		if got := read(t, s.logPath(0)); got != line(1) {
			t.Errorf("the kubelet's file says %q", got)
		}
	})
}

func TestAReadOnlyDiskIsWaitedFor(t *testing.T) {
	dir := smallDisk(t, "size=32m")
	s := newSceneAt(t, dir, dir)
	st := s.open()
	s.writes(0, line(1))
	l := s.begin(st, 0)
	must(t, unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	if _, err := st.Publish(l, s.meta(time.Second)); !errors.Is(err, unix.EROFS) {
		t.Errorf("error %v", err)
	}
	if err := st.Tend(context.Background()); err != nil {
		t.Logf("tend: %v", err)
	}
	if n := len(st.Lives()); n != 1 {
		t.Errorf("%d live attempts", n)
	}
	must(t, unix.Mount("", dir, "", unix.MS_REMOUNT, "size=32m"))
	if e := s.publish(st, l, time.Second); !e.Complete() {
		t.Errorf("gaps %+v", e.Gaps)
	}
}

// failing is a test whose Fatal ends a piece of work, not the test.
type failing struct{ testing.TB }

func (f failing) Helper()           {}
func (f failing) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// Whichever operation fails: what was there before is there afterwards, live
// or recorded, and works again once the disk does.
func TestAFailureOfEachOperation(t *testing.T) {
	for name, sc := range scenarios {
		for _, errno := range []error{unix.EIO, unix.ENOSPC} {
			t.Run(fmt.Sprintf("%s, %v", name, errno), func(t *testing.T) {
				for fail, reached := 1, true; reached; fail++ {
					reached = failOnce(t, sc, fail, errno)
				}
			})
		}
	}
}

func failOnce(t *testing.T, sc scenario, fail int, errno error) (reached bool) {
	t.Helper()
	s := newScene(t)
	if sc.retention != nil {
		sc.retention(&s.opts.Retention)
	}
	st := s.open()
	sc.before(s, st)
	operation, seen := "", 0
	st.fault = func(what, path string) error {
		// Also the second try, which the reserve would allow.
		if seen++; seen == fail || errno == unix.ENOSPC && seen == fail+1 {
			operation = what + " " + filepath.Base(path)
			return errno
		}
		return nil
	}
	act := *s
	act.t = failing{t}
	func() {
		defer func() { _ = recover() }()
		sc.act(&act, st)
	}()
	st.fault = nil
	if operation == "" {
		return false
	}
	s.pass(2 * time.Hour)
	for _, when := range []string{"at once", "after opening again"} {
		s.look(st)
		for problem := range s.problems(st, sc) {
			// A plan that could not be carried out waits to be.
			if when != "at once" || !strings.HasPrefix(problem, "left over") {
				t.Errorf("%s failed, %s: %s", operation, when, problem)
			}
		}
		must(t, st.Close())
		st = s.open()
	}
	for _, l := range st.Lives() {
		s.publish(st, l, time.Second)
	}
	for problem := range s.problems(st, sc) {
		t.Errorf("%s failed, recorded later: %s", operation, problem)
	}
	return true
}

// A file that is damaged is shown as damaged, not as whole.
func TestWhatWasLostIsAGap(t *testing.T) {
	s := newScene(t)
	st := s.open()
	e := s.crashes(st, 0, big)
	s.pass(time.Hour)
	must(t, st.Tend(context.Background()))
	must(t, st.Close())
	path := filepath.Join(s.opts.Root, e.Path, "log.0.gz")
	must(t, os.Truncate(path, 1000))
	st = s.open()
	got, ok := st.Find(e.ContainerID)
	if !ok || len(got.Gaps) != 1 || got.Gaps[0].Bytes >= 0 {
		t.Errorf("gaps %+v", got.Gaps)
	}
	must(t, st.Close())
	must(t, os.Remove(path))
	st = s.open()
	got, _ = st.Find(e.ContainerID)
	if len(got.Segments) != 0 || len(got.Gaps) != 1 || got.Class != record.Crash {
		t.Errorf("record %+v", got)
	}
}
