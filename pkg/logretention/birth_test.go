package logretention

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodekeeper/nodekeeper/pkg/lifecycle"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

func TestAContainerThatDiesBeforeAnyLook(t *testing.T) {
	t.Run("with the hook", func(t *testing.T) {
		s := newScene(t)
		s.start()
		c := s.newPod("etcd", "uid1").create("etcd", 0)
		c.hook()
		s.keeper.Event(lifecycle.Event{Kind: lifecycle.Created, Source: lifecycle.Hook, ContainerID: c.id})
		s.settle()
		c.list()
		c.write("20 ms")
		c.exit(3)
		e := c.recorded()
		c.want(e, record.Crash, 3)
		c.whole(e)
	})
	t.Run("with the hook alone, and removed", func(t *testing.T) {
		s := newScene(t)
		c := s.newPod("etcd", "uid1").run("etcd", 0)
		c.hook()
		c.exit(3)
		c.remove()
		c.run("etcd", 1)
		s.start()
		s.look()
		e := c.recorded()
		c.want(e, record.LostExit, unknown)
		c.whole(e)
	})
	t.Run("with inotify alone, and its log removed", func(t *testing.T) {
		s := newScene(t)
		s.start()
		c := s.newPod("etcd", "uid1").create("etcd", 0)
		s.await("a poke", func() bool { s.lock.Lock(); defer s.lock.Unlock(); return s.pokes > 0 })
		c.list()
		c.write("20 ms")
		s.must(os.RemoveAll(c.dir))
		c.exited(3, "Error")
		s.look()
		e := c.recorded()
		c.want(e, record.Crash, 3)
		if c.text(e) != string(c.written) {
			// The last name is gone, so that it was copied.
			t.Errorf("%q", c.text(e))
		}
	})
	t.Run("with an event of NRI", func(t *testing.T) {
		s := newScene(t)
		s.start()
		c := s.newPod("etcd", "uid1").create("etcd", 0)
		s.keeper.Event(lifecycle.Event{
			Kind: lifecycle.Created, Source: lifecycle.NRI, ContainerID: c.id, SandboxID: "sandbox-uid1",
			Namespace: "kube-system", Pod: "etcd", PodUID: "uid1", Container: "etcd", LogPath: c.log,
		})
		s.settle()
		c.linked(1)
		c.list()
		c.write("20 ms")
		c.exited(3, "Error")
		s.keeper.Event(lifecycle.Event{Kind: lifecycle.Stopped, Source: lifecycle.NRI, ContainerID: c.id})
		e := c.recorded()
		c.want(e, record.Crash, 3)
		c.whole(e)
		if diff := cmp.Diff([]record.Source{record.SourceNRI}, e.BornBy); diff != "" {
			t.Error(diff)
		}
	})
}

func TestANumberThatIsGivenTwice(t *testing.T) {
	s := newScene(t)
	s.start()
	p := s.newPod("etcd", "uid1")
	failed := p.create("etcd", 0)
	failed.hook()
	s.look()
	s.must(os.Remove(failed.log)) // CRI-O, after a failed creation
	c := p.run("etcd", 0)
	c.hook()
	s.look()
	c.linked(1)
	e := failed.recorded()
	failed.want(e, record.LostExit, unknown)
	failed.whole(e)
	c.exit(1)
	c.whole(c.recorded())
}

func TestExcludedPodsLeaveNothing(t *testing.T) {
	s := newScene(t)
	s.config.Exclude = []string{"other", "kube-system/vault-*"}
	s.start()
	c := s.newPod("vault-node-1", "uid1").run("vault", 0)
	hooked := s.newPod("vault-node-2", "uid2").run("vault", 0)
	hooked.hook()
	kept := s.newPod("etcd", "uid3").run("etcd", 0)
	s.look()
	kept.linked(1)
	if _, err := os.Stat(filepath.Join(s.root, record.LivePath(hooked.id))); !errors.Is(err, os.ErrNotExist) || c.live() {
		t.Errorf("%v, live %t", err, c.live())
	}
}

func TestPodsOfTheAPIAreNotFollowed(t *testing.T) {
	s := newScene(t)
	s.start()
	api := s.sandbox("web", "uid1", "api").run("web", 0)
	static := s.newPod("etcd", "uid2").run("etcd", 0)
	s.await("watches", func() bool { return s.keeper.Status().Watches >= 6 })
	s.look()
	static.linked(1)
	if api.live() {
		t.Error("followed")
	}
	s.await("fewer watches", func() bool { return s.keeper.Status().Watches == 4 })
}

// A keeper that starts while the runtime is down tells what it keeps.
func TestTheStatusNeedsNoRuntime(t *testing.T) {
	s := newScene(t)
	s.start()
	c := s.newPod("etcd", "uid1").run("etcd", 0)
	s.look()
	c.exit(1)
	c.recorded()
	s.stop()
	s.start()
	if got := s.keeper.Status(); got.Records != 1 || got.LimitBytes == 0 {
		t.Errorf("%+v", got)
	}
}
