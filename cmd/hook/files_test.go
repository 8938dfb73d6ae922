package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// told requires one spooled event that says what went wrong.
func told(t *testing.T, s *scene, id, says string) {
	t.Helper()
	if events := s.spooled(t); len(events) != 1 || events[0].ContainerID != id || !strings.Contains(events[0].Detail, says) {
		t.Errorf("events %+v, want one that says %q", events, says)
	}
}

func TestSomethingElsePlantedAsLog(t *testing.T) {
	for name, c := range map[string]struct {
		plant func(t *testing.T, log string)
		says  string
	}{
		"a symbolic link": {func(t *testing.T, log string) { do(t, os.Symlink("/etc/shadow", log)) }, "a symbolic link"},
		"a FIFO":          {func(t *testing.T, log string) { do(t, unix.Mkfifo(log, 0o600)) }, "a FIFO"},
		"a directory":     {func(t *testing.T, log string) { do(t, os.Mkdir(log, 0o700)) }, "a directory"},
		"nothing":         {func(*testing.T, string) {}, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			state := s.state(t, "c1")
			log := state.Annotations[crioLogPath]
			do(t, os.Remove(log))
			c.plant(t, log)
			if said := s.start(t, encoded(t, state)); !strings.Contains(said, c.says) {
				t.Errorf("it said %q", said)
			}
			told(t, s, "c1", c.says)
			entries, err := os.ReadDir(filepath.Join(s.root, record.LivePath("c1")))
			if err != nil || len(entries) != 1 || entries[0].Name() != record.BirthFile {
				t.Errorf("kept %v, %v", entries, err)
			}
		})
	}
}

func TestSomethingElsePlantedAsDirectory(t *testing.T) {
	plants := map[string]func(t *testing.T, path, elsewhere string){
		"a symbolic link": func(t *testing.T, path, elsewhere string) { do(t, os.Symlink(elsewhere, path)) },
		"a FIFO":          func(t *testing.T, path, _ string) { do(t, unix.Mkfifo(path, 0o600)) },
		"a file":          func(t *testing.T, path, _ string) { do(t, os.WriteFile(path, nil, 0o600)) },
		"another user's": func(t *testing.T, path, _ string) {
			asRoot(t)
			do(t, os.Mkdir(path, 0o777))
			do(t, os.Chown(path, 1000, 1000))
		},
	}
	for name, plant := range plants {
		for _, place := range []string{record.LiveDir, record.LivePath("c1")} {
			t.Run(name+" as "+place, func(t *testing.T) {
				s, elsewhere := newScene(t), t.TempDir()
				path := filepath.Join(s.root, place)
				do(t, os.MkdirAll(filepath.Dir(path), 0o700))
				plant(t, path, elsewhere)
				if said := s.start(t, encoded(t, s.state(t, "c1"))); !strings.Contains(said, place) {
					t.Errorf("it said %q", said)
				}
				told(t, s, "c1", place)
				if entries, err := os.ReadDir(elsewhere); err != nil || len(entries) != 0 {
					t.Errorf("it wrote elsewhere: %v, %v", entries, err)
				}
			})
		}
	}
}

func TestLinksAreBounded(t *testing.T) {
	s := newScene(t)
	for i := range 3 {
		s.start(t, encoded(t, s.state(t, fmt.Sprint("c", i))), "--max-live", "3")
		s.live(t, fmt.Sprint("c", i))
	}
	s.spooled(t)
	said := s.start(t, encoded(t, s.state(t, "c3")), "--max-live", "3")
	if !strings.Contains(said, "3 or more attempts wait") {
		t.Errorf("it said %q", said)
	}
	s.nothingKept(t, "c3")
	told(t, s, "c3", "3 or more attempts wait")
}

func TestScarceSpaceIsLeftToOthers(t *testing.T) {
	for what, options := range map[string]string{"space": "size=1m,nr_inodes=1000", "inodes": "size=10m,nr_inodes=40"} {
		t.Run(what, func(t *testing.T) {
			s := newScene(t)
			do(t, os.Mkdir(s.root, 0o755))
			mount(t, s.root, options)
			do(t, os.Mkdir(filepath.Join(s.root, record.LiveDir), 0o700))
			fill(t, s.root, what)
			do(t, os.Remove(filepath.Join(s.root, "fill0"))) // there is room, but not much
			said := s.start(t, encoded(t, s.state(t, "c1")))
			if !strings.Contains(said, "of "+what+" free") {
				t.Errorf("it said %q", said)
			}
			s.nothingKept(t, "c1")
			told(t, s, "c1", "of "+what+" free")
		})
	}
}

func TestAFullFileSystem(t *testing.T) {
	for what, options := range map[string]string{"space": "size=1m,nr_inodes=1000", "inodes": "size=10m,nr_inodes=40"} {
		t.Run(what, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "hook")
			do(t, err)
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			mount(t, dir, options)
			s := sceneIn(t, dir) // everything, the spool too
			state := encoded(t, s.state(t, "c1"))
			do(t, os.MkdirAll(filepath.Join(s.root, record.LiveDir), 0o700))
			fill(t, dir, what)
			said := s.start(t, state, "--min-free-percent", "0")
			if !strings.Contains(said, "no space left") || !strings.Contains(said, "nobody is told") {
				t.Errorf("it said %q", said)
			}
		})
	}
}

// fill uses up a file system's space or inodes.
func fill(t *testing.T, dir, what string) {
	t.Helper()
	for i := 0; ; i++ {
		var data []byte
		if what == "space" {
			data = make([]byte, 4096)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("fill", i)), data, 0o600); err != nil {
			return
		}
	}
}

func TestAReadOnlyFileSystem(t *testing.T) {
	s := newScene(t)
	do(t, os.Mkdir(s.root, 0o755))
	mount(t, s.root, "size=1m")
	do(t, unix.Mount("", s.root, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	said := s.start(t, encoded(t, s.state(t, "c1")))
	if !strings.Contains(said, "read-only file system") {
		t.Errorf("it said %q", said)
	}
	told(t, s, "c1", "read-only file system")
}

func TestAnotherFileSystem(t *testing.T) {
	s := newScene(t)
	do(t, os.Mkdir(s.root, 0o755))
	mount(t, s.root, "size=1m")
	said := s.start(t, encoded(t, s.state(t, "c1")))
	if !strings.Contains(said, "cross-device") {
		t.Errorf("it said %q", said)
	}
	told(t, s, "c1", "cross-device") // so that the agent copies
	if _, err := os.Stat(filepath.Join(s.root, record.LivePath("c1"), record.BirthFile)); err != nil {
		t.Error(err)
	}
}

// A FUSE file system whose server never answers is one that hangs.
func TestAFileSystemThatHangs(t *testing.T) {
	asRoot(t)
	s := newScene(t)
	device, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skip("no FUSE: ", err)
	}
	closed := false
	hangUp := func() {
		if !closed {
			closed = true
			_ = unix.Close(device)
		}
	}
	t.Cleanup(hangUp)
	do(t, os.Mkdir(s.root, 0o755))
	state := encoded(t, s.state(t, "c1"))
	if err := unix.Mount("nodekeeper-test", s.root, "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", device)); err != nil {
		t.Skip("no FUSE: ", err)
	}
	t.Cleanup(func() {
		hangUp()
		if err := unix.Unmount(s.root, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	said := s.start(t, state)
	if !strings.Contains(said, "gave up after 1s: linking") {
		t.Errorf("it said %q", said)
	}
	told(t, s, "c1", "takes long")
}
