package dirwatch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func start(t *testing.T, most int) (*Watcher, <-chan Event) {
	t.Helper()
	w, err := New(most)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	events, done := make(chan Event), make(chan error, 1)
	go func() { done <- w.Run(ctx, events) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return w, events
}

func add(t *testing.T, w *Watcher, dir string) {
	t.Helper()
	if err := w.Add(dir); err != nil {
		t.Fatal(err)
	}
}

func next(t *testing.T, events <-chan Event) Event {
	t.Helper()
	select {
	case e := <-events:
		return e
	case <-time.After(10 * time.Second):
		t.Fatal("no event")
		return Event{}
	}
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestNamesThatAppearAreTold(t *testing.T) {
	dir, w, events := watched(t)
	write(t, filepath.Join(dir, "0.log"))
	if e := next(t, events); e != (Event{Dir: dir, Name: "0.log"}) {
		t.Errorf("created: %+v", e)
	}
	write(t, filepath.Join(dir, "0.log")) // tells nothing
	if err := os.Mkdir(filepath.Join(dir, "etcd"), 0o700); err != nil {
		t.Fatal(err)
	}
	if e := next(t, events); e != (Event{Dir: dir, Name: "etcd", IsDir: true}) {
		t.Errorf("directory: %+v", e)
	}
	if err := os.Rename(filepath.Join(dir, "0.log"), filepath.Join(dir, "0.log.20261130-090337")); err != nil {
		t.Fatal(err)
	}
	if e := next(t, events); e.Name != "0.log.20261130-090337" {
		t.Errorf("renamed: %+v", e)
	}
	if w.Len() != 1 || !w.Has(dir) {
		t.Errorf("%d watched", w.Len())
	}
}

func watched(t *testing.T) (string, *Watcher, <-chan Event) {
	t.Helper()
	dir := t.TempDir()
	w, events := start(t, 10)
	add(t, w, dir)
	return dir, w, events
}

func TestADirectoryThatIsRemovedIsToldOnceAndForgotten(t *testing.T) {
	top, w, events := watched(t)
	dir := filepath.Join(top, "pod")
	for range 3 {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if e := next(t, events); e.Name != "pod" {
			t.Fatalf("%+v", e)
		}
		add(t, w, dir)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if e := next(t, events); e != (Event{Dir: dir, Gone: true}) {
			t.Fatalf("%+v", e)
		}
		if w.Len() != 1 {
			t.Fatalf("%d watched", w.Len())
		}
	}
}

func TestAnotherDirectoryOfTheSameNameTakesTheWatch(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "pod")
	w, events := start(t, 10)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	add(t, w, dir)
	if err := os.Rename(dir, dir+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	add(t, w, dir)
	write(t, filepath.Join(dir, "0.log"))
	for {
		if e := next(t, events); e.Name == "0.log" && e.Dir == dir {
			break
		}
	}
	if w.Len() > 1 {
		t.Errorf("%d watched", w.Len())
	}
}

func TestAPlantedLinkIsNotWatched(t *testing.T) {
	top := t.TempDir()
	link := filepath.Join(top, "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	w, _ := start(t, 10)
	if err := w.Add(link); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("link: %v", err)
	}
	if err := w.AddRoot(link); err != nil {
		t.Errorf("the admin's own link: %v", err)
	}
	if err := w.Add(filepath.Join(top, "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent: %v", err)
	}
}

func TestWatchesAreBounded(t *testing.T) {
	top := t.TempDir()
	w, _ := start(t, 2)
	var dirs []string
	for i := range 3 {
		dir := filepath.Join(top, strconv.Itoa(i))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, dir)
	}
	add(t, w, dirs[0])
	add(t, w, dirs[1])
	add(t, w, dirs[1])
	if err := w.Add(dirs[2]); !errors.Is(err, ErrTooMany) {
		t.Errorf("third: %v", err)
	}
	w.RemoveTree(dirs[0])
	add(t, w, dirs[2])
	w.RemoveTree(top)
	if w.Len() != 0 {
		t.Errorf("%d watched", w.Len())
	}
}

func TestOverflowIsTold(t *testing.T) {
	w, err := New(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	e, ok := w.event(raw{wd: -1, mask: unix.IN_Q_OVERFLOW})
	if !ok || !e.Overflow {
		t.Errorf("%+v %t", e, ok)
	}
}

func FuzzSplit(f *testing.F) {
	f.Add([]byte{})
	f.Add(append(make([]byte, 12), 16, 0, 0, 0, 'a', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
	f.Add(append(make([]byte, 12), 255, 255, 255, 255))
	f.Fuzz(func(t *testing.T, buffer []byte) {
		for _, r := range split(buffer) {
			if len(r.name) > len(buffer) {
				t.Error(r)
			}
		}
	})
}
