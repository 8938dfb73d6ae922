package logretention

import (
	"os"
	"path/filepath"
	"testing"
)

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
