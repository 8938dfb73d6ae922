package safelink

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// log makes a log file and opens it.
func log(t *testing.T, text string) *Source {
	t.Helper()
	path := filepath.Join(container(t), "0.log")
	write(t, path, text)
	s, err := Open(path)
	do(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func directory(t *testing.T, path string) *os.File {
	t.Helper()
	dir, err := os.Open(path)
	do(t, err)
	t.Cleanup(func() { _ = dir.Close() })
	return dir
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	do(t, err)
	return string(data)
}

func TestTheFileThatWasLookedAtIsLinked(t *testing.T) {
	swaps := map[string]func(t *testing.T, path string){
		"nothing happens": func(*testing.T, string) {},
		"the kubelet rotates it": func(t *testing.T, path string) {
			do(t, os.Rename(path, path+".20261130-090337"))
			write(t, path, "the next file")
		},
		"a symbolic link takes its name": func(t *testing.T, path string) {
			do(t, os.Rename(path, path+".old"))
			do(t, os.Symlink("/etc/passwd", path))
		},
		"its directory is replaced": func(t *testing.T, path string) {
			do(t, os.Rename(filepath.Dir(path), filepath.Dir(path)+".old"))
			do(t, os.Symlink("/etc", filepath.Dir(path)))
		},
	}
	for name, swap := range swaps {
		t.Run(name, func(t *testing.T) {
			s, to := log(t, "first words"), t.TempDir()
			swap(t, s.Path())
			do(t, s.LinkAt(directory(t, to), "log.0"))
			if got := content(t, filepath.Join(to, "log.0")); got != "first words" {
				t.Errorf("linked %q", got)
			}
			if n := s.Stat().Nlink; n != 2 {
				t.Errorf("%d links", n)
			}
		})
	}
}

func TestLinkNeverReplaces(t *testing.T) {
	s, to := log(t, "mine"), t.TempDir()
	write(t, filepath.Join(to, "log.0"), "yours")
	if err := s.LinkAt(directory(t, to), "log.0"); !errors.Is(err, fs.ErrExist) || CannotLink(err) {
		t.Errorf("error %v", err)
	}
	if got := content(t, filepath.Join(to, "log.0")); got != "yours" {
		t.Errorf("now %q", got)
	}
}

func TestLinkNamesStayInTheDirectory(t *testing.T) {
	s, to := log(t, "x"), t.TempDir()
	for _, name := range []string{"", ".", "..", "../log.0", "/tmp/log.0", "a/b"} {
		if err := s.LinkAt(directory(t, to), name); err == nil || CannotLink(err) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestAFileWithoutNamesCanBeReadButNotLinked(t *testing.T) {
	s := log(t, "last words")
	do(t, os.Remove(s.Path()))
	if n := s.Stat().Nlink; n != 0 {
		t.Fatalf("%d links", n)
	}
	err := s.LinkAt(directory(t, t.TempDir()), "log.0")
	if !errors.Is(err, unix.ENOENT) || !CannotLink(err) {
		t.Errorf("error %v", err)
	}
	r, err := s.Reader()
	do(t, err)
	defer r.Close()
	if data, err := io.ReadAll(r); err != nil || string(data) != "last words" {
		t.Errorf("read %q, %v", data, err)
	}
}

func TestADirectoryThatIsGoneIsNoReasonToCopy(t *testing.T) {
	s, to := log(t, "x"), t.TempDir()
	dir := directory(t, to)
	do(t, os.Remove(to))
	if err := s.LinkAt(dir, "log.0"); !errors.Is(err, fs.ErrNotExist) || CannotLink(err) {
		t.Errorf("error %v", err)
	}
}

func TestAnotherFileSystemIsAReasonToCopy(t *testing.T) {
	asRoot(t)
	s, to := log(t, "x"), t.TempDir()
	do(t, unix.Mount("nodekeeper-test", to, "tmpfs", 0, "size=64k"))
	t.Cleanup(func() {
		if err := unix.Unmount(to, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	dir, err := os.Open(to)
	do(t, err)
	defer dir.Close()
	if err := s.LinkAt(dir, "log.0"); !errors.Is(err, unix.EXDEV) || !CannotLink(err) {
		t.Errorf("error %v", err)
	}
}

func TestTooManyLinksAreAReasonToCopy(t *testing.T) {
	for errno, want := range map[error]bool{
		unix.EMLINK: true, unix.EPERM: true, unix.EXDEV: true, unix.ENOENT: true, unix.EOPNOTSUPP: true,
		unix.ENOSPC: false, unix.EDQUOT: false, unix.EIO: false, unix.EROFS: false, unix.EEXIST: false,
	} {
		err := fmt.Errorf("capture: %w", &os.LinkError{Op: "link", Err: errno})
		if CannotLink(err) != want {
			t.Errorf("%v: %v", errno, !want)
		}
	}
	if CannotLink(&fs.PathError{Op: "open", Err: unix.EPERM}) || CannotLink(nil) {
		t.Error("only a failed link is a reason to copy")
	}
}
