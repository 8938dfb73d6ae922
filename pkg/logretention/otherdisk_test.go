package logretention

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// onAnotherDisk puts the record root on another file system than the pod logs.
func onAnotherDisk(t *testing.T, s *scene) {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "nodekeeper-test-")
	if err != nil {
		t.Skipf("no second file system: %v", err)
	}
	t.Cleanup(func() {
		s.stop()
		s.must(os.RemoveAll(dir))
	})
	var here, there unix.Stat_t
	s.must(unix.Stat(dir, &here))
	s.must(unix.Stat(s.podLogs, &there))
	if here.Dev == there.Dev {
		t.Skip("no second file system: /dev/shm is on the same as temporary files")
	}
	s.root = filepath.Join(dir, "nodekeeper")
}

func TestALogOnAnotherDiskIsCopied(t *testing.T) {
	s := newScene(t)
	onAnotherDisk(t, s)
	s.start()
	c := s.newPod("etcd", "uid1").run("etcd", 0)
	s.look()
	c.linked(1)
	c.write("after the first copy")
	c.rotate("20261130-090001")
	c.write("in the second file")
	s.look()
	c.linked(2)
	c.write("the last words")
	c.exit(1)
	c.whole(c.recorded())
}

func TestASmallLogOnAnotherDiskIsPutBackAsACopy(t *testing.T) {
	s := newScene(t)
	onAnotherDisk(t, s)
	s.start()
	c := s.newPod("etcd", "uid1").run("etcd", 0)
	s.look()
	c.exit(1)
	c.recorded()
	s.must(os.Remove(c.log))
	for range missingLooks + 1 {
		s.pass(missingFor)
		s.look()
	}
	data, err := os.ReadFile(c.log)
	if string(data) != string(c.written) {
		t.Errorf("%q, %v", data, err)
	}
	if names := s.names(); len(names) != 4 {
		t.Errorf("%v", names)
	}
}
