package logretention

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/dirwatch"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

func TestRotationsInABurst(t *testing.T) {
	s := newScene(t)
	s.config.Retention.MaxBytesPerRecord = "1Gi"
	s.start()
	c := s.newPod("etcd", "uid1").run("etcd", 0)
	s.look()
	c.linked(1)
	for i := range 5 {
		c.rotate(fmt.Sprintf("20261130-09000%d", i))
		c.linked(i + 2)
		s.pass(time.Second)
		c.write(fmt.Sprintf("after rotation %d", i))
		if i > 0 {
			c.compress(fmt.Sprintf("20261130-09000%d", i-1))
		}
	}
	// Two within one second: the later rename replaces the earlier file.
	c.rotate("20261130-090010")
	c.linked(7)
	c.write("in the same second")
	c.rotate("20261130-090010")
	c.linked(8)
	c.write("after it")
	s.look()
	c.compress("20261130-090010")
	s.look()
	c.write("at last")
	c.exit(1)
	e := c.recorded()
	c.want(e, record.Crash, 1)
	c.whole(e)
	packed := 0
	for _, seg := range e.Segments {
		if seg.Compressed() {
			packed++
		}
	}
	if packed != 5 {
		t.Errorf("%d segments are the kubelet's compressed ones: %+v", packed, e.Segments)
	}
}

// The agent stops between a rotation and the new file, and what comes next is
// removed before it is back.
func TestFilesThatNobodySawAreDeclared(t *testing.T) {
	s := newScene(t)
	s.start()
	c := s.newPod("etcd", "uid1").run("etcd", 0)
	s.look()
	c.linked(1)
	s.must(os.Rename(c.log, c.log+".20261130-090001"))
	s.look()
	s.settle()
	s.stop()
	s.must(os.WriteFile(c.log, nil, 0o640))
	c.write("never seen")
	c.rotate("20261130-090002")
	for _, removed := range []string{"20261130-090001", "20261130-090002"} {
		s.must(os.Remove(c.log + "." + removed))
	}
	c.write("at last")
	s.start()
	s.look()
	c.linked(2)
	c.exit(1)
	e := c.recorded()
	if len(e.Segments) != 2 || e.Segments[0].Rotated == "" || len(e.Gaps) != 1 || e.Gaps[0].Before != 1 {
		t.Errorf("segments %+v, gaps %+v", e.Segments, e.Gaps)
	}
}

func TestRotationsWhileTheAgentWasAway(t *testing.T) {
	s := newScene(t)
	c := s.newPod("etcd", "uid1").run("etcd", 0)
	c.hook()
	c.rotate("20261130-090001")
	c.write("second piece")
	c.rotate("20261130-090002")
	c.compress("20261130-090001")
	c.write("third piece")
	c.rotate("20261130-090003")
	c.compress("20261130-090002")
	c.write("fourth piece")
	s.start()
	s.look()
	c.linked(4)
	c.exit(1)
	e := c.recorded()
	c.whole(e)
	if e.Segments[0].Rotated != "0.log.20261130-090001" || !e.Segments[0].Compressed() || !e.Segments[1].Compressed() {
		t.Errorf("%+v", e.Segments)
	}
}

func TestALateCaptureSaysThatItIs(t *testing.T) {
	s := newScene(t)
	c := s.newPod("etcd", "uid1").run("etcd", 0)
	c.rotate("20261130-090001")
	c.write("second piece")
	s.start()
	s.look()
	c.exit(1)
	e := c.recorded()
	if s.text(e) != string(c.written) || len(e.Gaps) != 1 || e.Gaps[0].Bytes >= 0 || e.Gaps[0].Before != 0 {
		t.Errorf("%q, gaps %+v", s.text(e), e.Gaps)
	}
}

func TestLostEventsAreMadeUpFor(t *testing.T) {
	s := newScene(t)
	s.config.Exits = ""
	s.watches = 1 // the root alone
	s.start()
	p := s.newPod("etcd", "uid1")
	c := p.run("etcd", 0)
	s.look()
	c.linked(1)
	if got := s.keeper.Status().Sources["watch"]; !strings.Contains(got, "too many") {
		t.Errorf("watch: %q", got)
	}
	c.rotate("20261130-090001")
	c.write("unseen")
	s.look()
	c.linked(2)
	c.exit(1)
	s.look()
	c.whole(c.recorded())
}

func TestOverflowLooksAtEverything(t *testing.T) {
	s := newScene(t)
	p := s.newPod("etcd", "uid1")
	c := p.run("etcd", 0)
	s.start()
	s.look()
	s.stop()

	// Beside Run, so that no event but this one comes.
	k := s.keeper
	c.rotate("20261130-090001")
	again, err := New(k.Options)
	s.must(err)
	t.Cleanup(func() { s.must(errors.Join(again.store.Close(), again.watcher.Close())) })
	again.rescan()
	other := p.create("metrics", 0)
	pokes := s.pokes
	again.notice(dirwatch.Event{Overflow: true})
	if again.pending.byPath[other.log] == nil || s.pokes == pokes {
		t.Error("a new log was not held, or nobody poked")
	}
	if segs := again.attempts[c.id].live.Segments(); len(segs) != 2 {
		t.Errorf("%+v", segs)
	}
}

func TestPlantedFilesAreNotTaken(t *testing.T) {
	s := newScene(t)
	s.start()
	p := s.newPod("etcd", "uid1")
	secret := filepath.Join(t.TempDir(), "secret")
	s.must(os.WriteFile(secret, []byte("secret"), 0o600))
	c := p.run("etcd", 0)
	s.look()
	c.linked(1)
	s.must(os.Symlink(secret, c.log+".20261130-090001"))
	s.must(unix.Mkfifo(c.log+".20261130-090002", 0o600))
	s.must(os.Mkdir(c.log+".20261130-090003", 0o700))
	s.must(os.WriteFile(c.log+".20261130-090004.gz", []byte("no gzip"), 0o600))
	s.must(os.Symlink(filepath.Dir(secret), filepath.Join(p.dir, "planted")))
	fifo := p.run("fifo", 0)
	s.must(os.Remove(fifo.log))
	s.must(unix.Mkfifo(fifo.log, 0o600))
	s.look()
	c.write("goes on")
	c.exit(1)
	fifo.exit(1)
	c.whole(c.recorded())
	if e := fifo.recorded(); s.text(e) != "" && s.text(e) != string(fifo.written) {
		t.Errorf("%q", s.text(e))
	}
}

// What is wrong with a log is said once, also where several things are wrong at
// a time.
func TestComplaintsAreNotRepeated(t *testing.T) {
	s := newScene(t)
	s.start()
	c := s.newPod("etcd", "uid1").run("etcd", 0)
	s.look()
	c.linked(1)
	for _, when := range []string{"090001", "090002", "090003"} {
		s.must(os.WriteFile(c.log+".20261130-"+when+".gz", []byte(when), 0o600))
	}
	s.must(unix.Mkfifo(c.log+".20261130-090004", 0o600))
	complaints := func() int {
		s.lock.Lock()
		defer s.lock.Unlock()
		return strings.Count(s.logs.String(), "a part of a log is not kept")
	}
	for range 5 {
		s.look()
		s.settle()
	}
	// The directory was listed as it filled up.
	if n := complaints(); n == 0 || n > 8 {
		t.Errorf("%d complaints", n)
	}
}

// A pod that may write to the pod logs fills its own directory: the others are
// recorded all the same, and at once.
func TestASwampedDirectoryHoldsNobodyUp(t *testing.T) {
	s := newScene(t)
	s.start()
	hostile := s.newPod("hostile", "uid1").run("main", 0)
	other := s.newPod("etcd", "uid2").run("etcd", 0)
	s.look()
	hostile.linked(1)
	other.linked(1)
	for n := range 1200 {
		s.must(os.WriteFile(fmt.Sprintf("%s.20261130-%06d", hostile.log, n), []byte("x")[:n%2], 0o600))
	}
	began := time.Now()
	s.look()
	other.exit(1)
	other.whole(other.recorded())
	hostile.exit(1)
	e := hostile.recorded()
	if n := len(e.Segments); n > 2*mostFiles || e.Complete() {
		t.Errorf("%d segments, gaps %+v", n, e.Gaps)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("that took %v", took)
	}
}
