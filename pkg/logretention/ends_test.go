package logretention

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

func TestALoopOfCrashesIsKeptByteForByte(t *testing.T) {
	s := newScene(t)
	s.start()
	p := s.newPod("etcd", "uid1")
	var old *ctr
	for i := range uint32(8) {
		c := p.run("etcd", i)
		s.look()
		c.write("the last words")
		c.exit(int32(i) + 1)
		if old != nil {
			old.remove() // the kubelet, as soon as there is another dead one
		}
		e := c.recorded()
		c.want(e, record.Crash, int32(i)+1)
		c.whole(e)
		if e.Revision != "7" || e.SandboxID != "sandbox-uid1" || e.BootID != "boot-1" || e.Node != "node-1" || e.Series.Index != int(i)+1 {
			t.Errorf("%+v", e)
		}
		old = c
		s.pass(20 * time.Second)
	}
	s.await("8 journal entries", func() bool { return len(s.entries()) == 8 })
	last := s.entries()[7]
	if !strings.Contains(last.message, "kube-system/etcd container etcd, attempt 7: crash (exit code 8)") ||
		!strings.Contains(last.message, "the last words") || last.fields["NODEKEEPER_EXIT_CODE"] != "8" || last.fields["NODEKEEPER_CLASS"] != "crash" {
		t.Errorf("%+v", last)
	}
}

func TestARolloutIsNoCrash(t *testing.T) {
	s := newScene(t)
	s.start()
	p := s.newPod("etcd", "uid1")
	polite, stubborn := p.run("etcd", 0), p.run("metrics", 0)
	s.look()
	s.pass(time.Minute)
	s.manifest("etcd", "digest-uid2")
	s.pass(time.Second)
	polite.exit(0)
	stubborn.exit(137)
	s.look() // knows it from the manifest
	polite.want(polite.recorded(), record.ReplacedByRevision, 0)
	next := s.newPod("etcd", "uid2").run("etcd", 0)
	s.look()
	p.gone()
	s.look()
	e := stubborn.recorded()
	stubborn.want(e, record.ReplacedByRevision, 137)
	stubborn.whole(e)
	next.linked(1)
	if n := len(s.entries()); n != 0 {
		t.Errorf("%d journal entries", n)
	}
}

func TestACrashBeforeItsManifestChangedIsACrash(t *testing.T) {
	s := newScene(t)
	p := s.newPod("etcd", "uid1")
	c := p.run("etcd", 0)
	c.exit(137)
	s.pass(time.Hour)
	s.manifest("etcd", "digest-uid2")
	s.sandbox("etcd", "uid2", "file")
	s.start()
	s.look()
	c.want(c.recorded(), record.Crash, 137)
}

func TestWhatTheKubeletRemovesInOneGoIsKept(t *testing.T) {
	s := newScene(t)
	s.start()
	p := s.newPod("etcd", "uid1")
	c := p.run("etcd", 0)
	s.look()
	s.manifest("etcd", "")
	c.write("bye")
	p.gone()
	s.must(os.RemoveAll(s.storage))
	s.look()
	e := c.recorded()
	c.want(e, record.KilledByKubelet, unknown)
	c.whole(e)
}

func TestAReboot(t *testing.T) {
	s := newScene(t)
	s.start()
	p := s.newPod("etcd", "uid1")
	c := p.run("etcd", 0)
	s.look()
	c.write("power is failing")
	s.stop()

	c.forgotten()
	s.bootID, s.boot = "boot-2", time.Minute
	s.criErr = errors.New("not up yet")
	s.start()
	s.look()
	if !c.live() {
		t.Error("concluded from a runtime that did not answer")
	}
	s.criErr = nil
	again := p.run("etcd", 1)
	s.look()
	e := c.recorded()
	c.want(e, record.LostInReboot, unknown)
	c.whole(e)
	if e.BootID != "boot-1" {
		t.Errorf("boot %s", e.BootID)
	}
	again.linked(1)
}

func TestARebootThatNobodySaw(t *testing.T) {
	s := newScene(t)
	p := s.newPod("etcd", "uid1")
	older, c, foreign := p.run("etcd", 3), p.run("etcd", 4), s.sandbox("gone", "uid9", "file").run("gone", 0)
	now := p.run("etcd", 5)
	before, after := s.wall.Add(-2*time.Hour), s.wall
	for _, x := range []*ctr{older, c, foreign, now} {
		s.must(os.Chtimes(x.log, before, before))
		x.forgotten()
	}
	s.must(os.Chtimes(now.log, after, after))
	now.list()
	// The kubelet's link knows the ID.
	links := filepath.Join(filepath.Dir(s.podLogs), "containers")
	s.must(os.Mkdir(links, 0o755))
	s.must(os.Symlink(c.log, filepath.Join(links, "etcd_kube-system_etcd-0123456789abcdef.log")))
	s.start()
	s.look()
	s.await("the orphan's record", func() bool { _, ok := s.keeper.store.Find("0123456789abcdef"); return ok })
	e, _ := s.keeper.store.Find("0123456789abcdef")
	c.want(e, record.LostInReboot, unknown)
	if s.text(e) != string(c.written) {
		t.Errorf("%q", s.text(e))
	}
	now.linked(1)
	s.stop()
	s.start()
	s.look()
	if n := len(s.keeper.store.Index().Records); n != 1 {
		t.Errorf("%d records: older and foreign ones, or the same twice", n)
	}
}

func TestOutOfMemory(t *testing.T) {
	s := newScene(t)
	s.start()
	c := s.newPod("etcd", "uid1").run("etcd", 0)
	s.look()
	s.must(os.WriteFile(filepath.Join(c.persist(), "oom"), nil, 0o600))
	c.exit(137)
	e := c.recorded()
	c.want(e, record.OOM, 137)
	if !e.OOMKilled || e.Signal != 9 {
		t.Errorf("%+v", e)
	}
}

func TestAKilledMonitor(t *testing.T) {
	s := newScene(t)
	s.start()
	c := s.newPod("etcd", "uid1").run("etcd", 0)
	s.look()
	s.lock.Lock()
	s.cri[c.id].Process = node.Process{PID: 1, State: node.ProcessGone, CgroupEmpty: true}
	s.lock.Unlock()
	s.look()
	if s.settle(); !c.live() {
		t.Fatal("recorded at the first look: conmon may be draining the pipes")
	}
	c.write("a late line that conmon was still writing")
	s.pass(staleAfter)
	s.look()
	e := c.recorded()
	c.want(e, record.LostExit, unknown)
	c.whole(e)
	s.keeper.NameAct(e.Path, "act-7")
	c.exited(-1, "") // by the act
	s.look()
	s.await("the act in the record", func() bool {
		e, _ := s.keeper.store.Find(c.id)
		return len(e.Acts) == 1 && e.Acts[0] == "act-7"
	})
}

func TestARuntimeThatDoesNotAnswerProvesNothing(t *testing.T) {
	s := newScene(t)
	s.start()
	c := s.newPod("etcd", "uid1").run("etcd", 0)
	s.look()
	s.criErr = errors.New("connection refused")
	for range 3 {
		s.pass(time.Hour)
		s.look()
	}
	c.rotate("20261130-090001")
	c.linked(2)
	s.criErr = nil
	s.look()
	c.exit(0)
	s.look()
	c.want(c.recorded(), record.Completed, 0)
}

func TestAContainerInTheMakingIsNotLost(t *testing.T) {
	s := newScene(t)
	s.start()
	p := s.newPod("etcd", "uid1")
	c := p.create("etcd", 0)
	c.hook()
	for range 7 {
		s.pass(time.Minute)
		s.calls = []node.RuntimeCall{{Verb: "create", ContainerID: c.id}}
		s.look()
	}
	if !c.live() {
		t.Fatal("ended while runc create hangs")
	}
	s.calls = nil
	s.look()
	c.want(c.recorded(), record.LostExit, unknown)
}
