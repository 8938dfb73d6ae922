package regularfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestReadGivesContentAndIdentity(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(path, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := Read(path, 6)
	if err != nil || string(file.Data) != "hello" || !file.Stable {
		t.Fatalf("file %+v, error %v", file, err)
	}
	id, err := Stat(path)
	if err != nil || id != file.Identity {
		t.Errorf("identity %+v, want %+v, error %v", id, file.Identity, err)
	}
}

func TestAFileOfTheLimitIsTooLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(path, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path, 5); !errors.Is(err, ErrTooLarge) {
		t.Errorf("error %v", err)
	}
}

// A file of /proc says that it is empty and is not.
func TestTheLimitHoldsForAFileThatHidesItsSize(t *testing.T) {
	if _, err := Read("/proc/self/stat", 5); !errors.Is(err, ErrTooLarge) {
		t.Errorf("error %v", err)
	}
}

func TestNothingElseIsRead(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, fifo, "/dev/zero"} {
		if _, err := Read(path, 5); !errors.Is(err, ErrNotRegular) {
			t.Errorf("%s: error %v", path, err)
		}
	}
	if _, err := Read(filepath.Join(dir, "none"), 5); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// Somebody puts a FIFO in the place of the file again and again; whichever a
// read meets, it must return.
func TestAFIFOInThePlaceOfTheFileNeverBlocks(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			fifo, file := filepath.Join(dir, "fifo"), filepath.Join(dir, "file")
			_ = syscall.Mkfifo(fifo, 0o600)
			_ = os.Rename(fifo, path)
			_ = os.WriteFile(file, []byte("x"), 0o600)
			_ = os.Rename(file, path)
		}
	}()
	t.Cleanup(func() { close(stop); <-done })
	for range 5000 {
		file, err := Read(path, 5)
		if err == nil && string(file.Data) != "x" {
			t.Fatalf("read %q", file.Data)
		}
	}
}

func TestOnlyAnOldChangeIsSettled(t *testing.T) {
	read := time.Now()
	for age, want := range map[time.Duration]bool{
		0: false, time.Second: false, time.Minute: true, -time.Hour: false,
	} {
		if got := (Identity{Changed: read.Add(-age).UnixNano()}).Settled(read); got != want {
			t.Errorf("age %s: settled %t", age, got)
		}
	}
}
