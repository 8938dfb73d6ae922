package logretention

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/nodekeeper/nodekeeper/pkg/lifecycle"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/dirwatch"
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

func TestARecordForAnAct(t *testing.T) {
	s := newScene(t)
	s.start()
	p := s.newPod("etcd", "uid1")
	dead, alive := p.run("etcd", 0), p.run("metrics", 0)
	s.look()
	s.lock.Lock()
	s.cri[dead.id].Process = node.Process{PID: 1, State: node.ProcessGone, CgroupEmpty: true}
	s.lock.Unlock()
	s.look()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	path, ok := s.keeper.Record(ctx, dead.id)
	if e := dead.recorded(); !ok || path != e.Path || e.Class != record.LostExit {
		t.Errorf("dead: %q %t, %+v", path, ok, e.Meta)
	}
	path, ok = s.keeper.Record(ctx, alive.id)
	if !ok || path != record.LivePath(alive.id) {
		t.Errorf("alive: %q %t", path, ok)
	}
	s.keeper.NameAct(path, "act-8")
	s.settle()
	alive.exit(143)
	s.look()
	e := alive.recorded()
	alive.want(e, record.KilledByKubelet, 143)
	if len(e.Acts) != 1 || !strings.Contains(e.ClassReason, "act-8") {
		t.Errorf("%+v", e.Meta)
	}
	if path, ok := s.keeper.Record(ctx, "nobody"); ok {
		t.Errorf("nobody: %q", path)
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	s.stop()
	if path, ok := s.keeper.Record(over, alive.id); ok {
		t.Errorf("without time: %q", path)
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

func TestAMissingLogIsPutBack(t *testing.T) {
	s := newScene(t)
	s.start()
	p := s.newPod("etcd", "uid1")
	c := p.run("etcd", 0)
	s.look()
	c.exit(1)
	c.recorded()
	s.must(os.RemoveAll(filepath.Dir(c.log)))
	s.look()
	s.look()
	if !isMissing(c.log) {
		t.Fatal("put back at once: the kubelet may be removing the record as well")
	}
	s.pass(missingFor)
	s.look()
	data, err := os.ReadFile(c.log)
	if string(data) != string(c.written) {
		t.Errorf("%q, %v", data, err)
	}
	// Once: whoever removes it again means it.
	s.must(os.Remove(c.log))
	for range 5 {
		s.pass(missingFor)
		s.look()
	}
	if !isMissing(c.log) {
		t.Error("put back twice")
	}
}

func TestTheLogOfAPodThatIsGoneIsNotPutBack(t *testing.T) {
	s := newScene(t)
	s.start()
	p := s.newPod("etcd", "uid1")
	c := p.run("etcd", 0)
	s.look()
	c.exit(1)
	c.recorded()
	s.must(os.RemoveAll(p.dir))
	s.lock.Lock()
	s.sandboxes[0].Ready = false
	s.lock.Unlock()
	for range 5 {
		s.pass(missingFor)
		s.look()
	}
	if !isMissing(p.dir) {
		t.Error("put back")
	}
}

func TestAPlantedDirectoryIsNotFollowedForARepair(t *testing.T) {
	s := newScene(t)
	s.start()
	p := s.newPod("etcd", "uid1")
	c := p.run("etcd", 0)
	s.look()
	c.exit(1)
	c.recorded()
	elsewhere := t.TempDir()
	s.must(os.RemoveAll(filepath.Dir(c.log)))
	s.must(os.Symlink(elsewhere, filepath.Dir(c.log)))
	for range 5 {
		s.pass(missingFor)
		s.look()
	}
	if names, _ := os.ReadDir(elsewhere); len(names) > 0 {
		t.Errorf("%v", names)
	}
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
