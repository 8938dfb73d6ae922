package spool

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodekeeper/nodekeeper/pkg/lifecycle"
)

func event(id string) lifecycle.Event {
	return lifecycle.Event{Kind: lifecycle.Created, Source: lifecycle.Hook, ContainerID: id, Time: time.Unix(1796000000, 5).UTC()}
}

func drain(t *testing.T, s *Spool) (ids []string, err error) {
	t.Helper()
	n, err := s.Drain(func(e lifecycle.Event) { ids = append(ids, e.ContainerID) })
	if n != len(ids) {
		t.Errorf("says %d, handled %d", n, len(ids))
	}
	return ids, err
}

func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestEventsComeOutOnceInOrder(t *testing.T) {
	s := New(filepath.Join(t.TempDir(), "run", "spool"), 0)
	if ids, err := drain(t, s); len(ids) != 0 || err != nil {
		t.Errorf("an absent spool: %v, %v", ids, err)
	}
	var want []string
	for i := range 12 {
		want = append(want, fmt.Sprint("c", i))
		do(t, s.Put(event(want[i])))
	}
	if ids, err := drain(t, s); !reflect.DeepEqual(ids, want) || err != nil {
		t.Errorf("%v, %v", ids, err)
	}
	if ids, err := drain(t, s); len(ids) != 0 || err != nil {
		t.Errorf("again: %v, %v", ids, err)
	}
	if entries, err := os.ReadDir(s.dir); err != nil || len(entries) != 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

func TestManyHooksPutAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	var all sync.WaitGroup
	for i := range 50 {
		s := New(dir, 0)
		s.counter.Store(uint64(i)) // processes have numbers of their own
		all.Go(func() {
			if err := s.Put(event(fmt.Sprint("c", i))); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if ids, err := drain(t, New(dir, 0)); len(ids) != 50 || err != nil {
		t.Errorf("%d events, %v", len(ids), err)
	}
}

func TestTheSpoolIsBounded(t *testing.T) {
	s := New(t.TempDir(), 3)
	do(t, os.WriteFile(filepath.Join(s.dir, "README"), nil, 0o600))
	for i := range 3 {
		do(t, s.Put(event(fmt.Sprint("c", i))))
	}
	if err := s.Put(event("c3")); !errors.Is(err, ErrFull) {
		t.Errorf("error %v", err)
	}
	if ids, err := drain(t, s); len(ids) != 3 || err != nil {
		t.Errorf("%v, %v", ids, err)
	}
	do(t, s.Put(event("c4")))
}

func TestAnEventStaysUntilItWasHandled(t *testing.T) {
	s := New(t.TempDir(), 0)
	do(t, s.Put(event("c1")))
	func() {
		defer func() { _ = recover() }()
		_, _ = s.Drain(func(lifecycle.Event) { panic("the agent dies") })
	}()
	if ids, err := drain(t, s); len(ids) != 1 || err != nil {
		t.Errorf("%v, %v", ids, err)
	}
}

func TestWhatMakesNoSenseIsSetAside(t *testing.T) {
	name := "0000000000000000001-1-0.event"
	for what, plant := range map[string]func(t *testing.T, path string){
		"torn": func(t *testing.T, path string) { do(t, os.WriteFile(path, []byte(`{"kind":"created"`), 0o600)) },
		"zero": func(t *testing.T, path string) { do(t, os.WriteFile(path, make([]byte, 300), 0o600)) },
		"empty": func(t *testing.T, path string) {
			do(t, os.WriteFile(path, nil, 0o600))
		},
		"huge": func(t *testing.T, path string) {
			do(t, os.WriteFile(path, []byte(strings.Repeat("x", 1<<20)), 0o600))
		},
		"a link": func(t *testing.T, path string) {
			whole, err := encode(event("secret"))
			do(t, err)
			do(t, os.WriteFile(path+".target", whole, 0o600))
			do(t, os.Symlink(path+".target", path))
		},
		"a FIFO":      func(t *testing.T, path string) { do(t, unix.Mkfifo(path, 0o600)) },
		"a directory": func(t *testing.T, path string) { do(t, os.Mkdir(path, 0o700)) },
	} {
		t.Run(what, func(t *testing.T) {
			s := New(t.TempDir(), 0)
			plant(t, filepath.Join(s.dir, name))
			do(t, s.Put(event("whole")))
			ids, err := drain(t, s)
			if err == nil || len(ids) != 1 || ids[0] != "whole" {
				t.Errorf("%v, %v", ids, err)
			}
			if _, err := os.Lstat(filepath.Join(s.dir, tornDir, name)); err != nil {
				t.Error(err)
			}
			if ids, err := drain(t, s); len(ids) != 0 || err != nil {
				t.Errorf("again: %v, %v", ids, err)
			}
		})
	}
}

func TestWhatIsSetAsideIsBounded(t *testing.T) {
	s := New(t.TempDir(), 0)
	for i := range maxTorn + 5 {
		do(t, os.WriteFile(filepath.Join(s.dir, fmt.Sprintf("%019d-1-0.event", i)), []byte("?"), 0o600))
	}
	if ids, err := drain(t, s); len(ids) != 0 || err == nil {
		t.Errorf("%v, %v", ids, err)
	}
	if entries, err := os.ReadDir(filepath.Join(s.dir, tornDir)); err != nil || len(entries) != maxTorn {
		t.Errorf("%d set aside, %v", len(entries), err)
	}
	if ids, err := drain(t, s); len(ids) != 0 || err != nil {
		t.Errorf("again: %v, %v", ids, err)
	}
}

func TestOtherFilesAreLeftAlone(t *testing.T) {
	s := New(t.TempDir(), 0)
	for _, name := range []string{"README", ".x-0.new", "x.event", "1.event.bak"} {
		do(t, os.WriteFile(filepath.Join(s.dir, name), []byte("?"), 0o600))
	}
	if ids, err := drain(t, s); len(ids) != 0 || err != nil {
		t.Errorf("%v, %v", ids, err)
	}
	if entries, err := os.ReadDir(s.dir); err != nil || len(entries) != 4 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

func TestWhatADeadHookWasWritingIsRemoved(t *testing.T) {
	s := New(t.TempDir(), 0)
	dead := exec.Command("/bin/true")
	do(t, dead.Run())
	left, mine := temporary(dead.Process.Pid, 0), temporary(os.Getpid(), 7)
	for _, name := range []string{left, mine, left + ".old"} {
		do(t, os.WriteFile(filepath.Join(s.dir, name), []byte("?"), 0o600))
	}
	if ids, err := drain(t, s); len(ids) != 0 || err != nil {
		t.Errorf("%v, %v", ids, err)
	}
	for name, want := range map[string]bool{left: false, mine: true, left + ".old": true} {
		if _, err := os.Lstat(filepath.Join(s.dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestALinkAsTheSpoolIsNotFollowed(t *testing.T) {
	elsewhere, link := t.TempDir(), filepath.Join(t.TempDir(), "spool")
	do(t, os.Symlink(elsewhere, link))
	s := New(link, 0)
	if err := s.Put(event("c1")); err == nil {
		t.Error("put through a link")
	}
	if _, err := s.Drain(func(lifecycle.Event) {}); err == nil {
		t.Error("drained through a link")
	}
	if entries, err := os.ReadDir(elsewhere); err != nil || len(entries) != 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

func TestNothingIsWrittenThroughAPlantedTemporary(t *testing.T) {
	s, target := New(t.TempDir(), 0), filepath.Join(t.TempDir(), "target")
	do(t, os.WriteFile(target, []byte("precious"), 0o600))
	do(t, os.Symlink(target, filepath.Join(s.dir, fmt.Sprintf(".%d-0.new", os.Getpid()))))
	do(t, s.Put(event("c1")))
	if data, err := os.ReadFile(target); err != nil || string(data) != "precious" {
		t.Errorf("now %q, %v", data, err)
	}
	if ids, err := drain(t, s); len(ids) != 1 || err != nil {
		t.Errorf("%v, %v", ids, err)
	}
}

func TestWhatFindsNoRoomIsCounted(t *testing.T) {
	s := New(filepath.Join(t.TempDir(), "spool"), 2)
	want := func(events int, dropped int64) {
		t.Helper()
		if n, d, err := s.Waiting(); n != events || d != dropped || err != nil {
			t.Errorf("%d waiting, %d dropped, %v; want %d and %d", n, d, err, events, dropped)
		}
	}
	want(0, 0)
	for _, id := range []string{"c1", "c2", "c3", "c4"} {
		_ = s.Put(event(id))
	}
	want(2, 2)
	if ids, err := drain(t, s); len(ids) != 2 || err != nil {
		t.Errorf("%v, %v", ids, err)
	}
	want(0, 2)
}
