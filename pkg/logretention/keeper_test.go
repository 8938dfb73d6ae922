package logretention

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/nodekeeper/nodekeeper/pkg/lifecycle"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

func TestANewAgentGoesOn(t *testing.T) {
	s := newScene(t)
	s.start()
	p := s.newPod("etcd", "uid1")
	c, gone := p.run("etcd", 0), p.run("metrics", 0)
	s.look()
	c.rotate("20261130-090001")
	c.linked(2)
	s.stop()
	c.write("nobody looks")
	c.rotate("20261130-090002")
	c.write("nobody looks either")
	gone.exit(1)
	gone.remove()
	p.run("metrics", 1)
	s.start()
	s.look()
	c.linked(3)
	gone.want(gone.recorded(), record.LostExit, unknown)
	c.exit(2)
	e := c.recorded()
	c.want(e, record.Crash, 2)
	c.whole(e)
	s.stop()
	s.start()
	s.look()
	if n := len(s.keeper.store.Index().Records); n != 2 {
		t.Errorf("%d records", n)
	}
}

func TestNothingIsLeftBelowThePodLogRoot(t *testing.T) {
	s := newScene(t)
	s.start()
	c := s.newPod("etcd", "uid1").run("etcd", 0)
	before, info := s.names(), stat(t, c.log)
	s.look()
	c.linked(1)
	c.exit(1)
	c.recorded()
	if diff := cmp.Diff(before, s.names()); diff != "" {
		t.Error(diff)
	}
	after := stat(t, c.log)
	if after.Mode != info.Mode || after.Uid != info.Uid || after.Mtim != info.Mtim || after.Ino != info.Ino {
		t.Errorf("%+v, was %+v", after, info)
	}
	if after.Nlink != 2 {
		t.Errorf("%d links", after.Nlink)
	}
}

func stat(t *testing.T, path string) (st unix.Stat_t) {
	t.Helper()
	if err := unix.Lstat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st
}

func TestHintsAreBoundedAndNeverBlock(t *testing.T) {
	s := newScene(t)
	k, err := New(Options{Config: s.config, Root: s.root, Clock: s, Status: s.status})
	s.must(err)
	t.Cleanup(func() { s.must(errors.Join(k.store.Close(), k.watcher.Close())) })
	for range queuedEvents + 5 {
		k.Event(lifecycle.Event{Kind: lifecycle.Stopped, ContainerID: "x"})
		k.Observe(&node.Snapshot{})
		k.NameAct("x", "y")
	}
	if n := k.Status().DroppedEvents; n != 5 {
		t.Errorf("%d dropped", n)
	}
}

func TestARootThatCannotBe(t *testing.T) {
	s := newScene(t)
	if _, err := New(Options{Config: s.config, Root: "relative", Clock: s, Status: s.status}); err == nil {
		t.Error("relative")
	}
	file := filepath.Join(t.TempDir(), "file")
	s.must(os.WriteFile(file, nil, 0o600))
	if _, err := New(Options{Config: s.config, Root: file, Clock: s, Status: s.status}); err == nil {
		t.Error("a file")
	}
}

func TestNothingIsRememberedOfWhatIsOver(t *testing.T) {
	s := newScene(t)
	s.start()
	p := s.newPod("etcd", "uid1")
	var old *ctr
	for i := range uint32(40) {
		c := p.run("etcd", i)
		if i%2 == 0 {
			c.hook()
		}
		s.look()
		c.exit(1)
		c.recorded()
		if old != nil {
			old.remove()
		}
		old = c
		s.pass(20 * time.Second)
	}
	p.gone()
	s.look()
	s.await("the watches to end", func() bool {
		s.settle()
		return s.keeper.Status().Watches == 2
	})
	s.stop()
	k := s.keeper
	for what, n := range map[string]int{
		"attempts": len(k.attempts), "paths": len(k.byPath), "done": len(k.done), "pending": len(k.pending.byPath),
		"missing": len(k.repairs.missing), "repaired": len(k.repairs.done), "foreign": len(k.foreign), "trouble": len(k.trouble),
	} {
		if n != 0 {
			t.Errorf("%d %s", n, what)
		}
	}
}
