package statefile

import (
	"path/filepath"
	"syscall"
	"testing"
)

// A FIFO or a link in the place of a state file is neither waited for nor
// written through.
func TestPlantedFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state.json")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path, 100); err == nil {
		t.Error("read a FIFO")
	}
	if err := syscall.Mkfifo(path+".new", 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Replace(path, []byte("x"), 0o600, false); err != nil {
		t.Fatalf("replace: %v", err)
	}
	if data, err := Read(path, 100); err != nil || string(data) != "x" {
		t.Errorf("read %q, %v", data, err)
	}
}
