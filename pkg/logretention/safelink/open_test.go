package safelink

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// walks are the two ways to open a path; every case holds for both.
var walks = map[string]beneath{"openat2": openBeneath, "openat": walkBeneath}

// container makes ROOT/NS_POD_UID/CTR and returns it.
func container(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "pods", "kube-system_etcd_1234", "etcd")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefusesWhatWasPlanted(t *testing.T) {
	cases := map[string]struct {
		plant func(t *testing.T, dir string)
		says  string
	}{
		"a symbolic link to a file": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "other"), "secret")
			do(t, os.Symlink("other", filepath.Join(dir, "0.log")))
		}, "a symbolic link"},
		"a symbolic link to nothing": {func(t *testing.T, dir string) {
			do(t, os.Symlink("nothing", filepath.Join(dir, "0.log")))
		}, "a symbolic link"},
		"a FIFO": {func(t *testing.T, dir string) {
			do(t, unix.Mkfifo(filepath.Join(dir, "0.log"), 0o600))
		}, "a FIFO"},
		"a directory": {func(t *testing.T, dir string) {
			do(t, os.Mkdir(filepath.Join(dir, "0.log"), 0o700))
		}, "a directory"},
		"a socket": {func(t *testing.T, dir string) {
			listener, err := net.Listen("unix", filepath.Join(dir, "0.log"))
			do(t, err)
			t.Cleanup(func() { _ = listener.Close() })
		}, "a socket"},
		"a device": {func(t *testing.T, dir string) {
			asRoot(t)
			do(t, unix.Mknod(filepath.Join(dir, "0.log"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))))
		}, "a device"},
		"a file of another user": {func(t *testing.T, dir string) {
			asRoot(t)
			write(t, filepath.Join(dir, "0.log"), "x")
			do(t, os.Chown(filepath.Join(dir, "0.log"), 1000, 0))
		}, "belongs to user 1000"},
		"a symbolic link as the container's directory": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "0.log"), "x")
			do(t, os.Rename(dir, dir+"2"))
			do(t, os.Symlink("etcd2", dir))
		}, "symbolic link on the way"},
		"a symbolic link as the pod's directory": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "0.log"), "x")
			pod := filepath.Dir(dir)
			do(t, os.Rename(pod, pod+"2"))
			do(t, os.Symlink(pod+"2", pod))
		}, "symbolic link on the way"},
		"a file as the container's directory": {func(t *testing.T, dir string) {
			do(t, os.Remove(dir))
			write(t, dir, "x")
		}, "in the place of a directory"},
	}
	for name, c := range cases {
		for way, walk := range walks {
			t.Run(name+" by "+way, func(t *testing.T) {
				dir := container(t)
				c.plant(t, dir)
				began := time.Now()
				s, err := open(filepath.Join(dir, "0.log"), walk)
				if err == nil {
					_ = s.Close()
				}
				if !errors.Is(err, ErrPlanted) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("error %v, want one that says %q", err, c.says)
				}
				if waited := time.Since(began); waited > 5*time.Second {
					t.Errorf("waited %v", waited)
				}
			})
		}
	}
}

func TestOpenFollowsLinksToTheRootOnly(t *testing.T) {
	for way, walk := range walks {
		t.Run(way, func(t *testing.T) {
			dir := container(t)
			write(t, filepath.Join(dir, "0.log"), "four")
			root := filepath.Dir(filepath.Dir(dir))
			elsewhere := filepath.Join(t.TempDir(), "pods")
			do(t, os.Symlink(root, elsewhere))
			s, err := open(filepath.Join(elsewhere, "kube-system_etcd_1234", "etcd", "0.log"), walk)
			do(t, err)
			t.Cleanup(func() { _ = s.Close() })
			if got := s.Stat(); got.Size != 4 || got.Nlink != 1 || got.Ino == 0 || got.ModTime.IsZero() {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestOpenRefusesPathsOfAnotherShape(t *testing.T) {
	for _, path := range []string{"", "pods/a/b/0.log", "/a/b", "/0.log", "/pods/a/../../etc/shadow", "/pods/a/b/", "/pods//a/b/0.log", "/pods/a/b/0.log\x00"} {
		if s, err := Open(path); err == nil {
			_ = s.Close()
			t.Errorf("%q was opened", path)
		}
	}
}

func TestOpenOfAMissingLog(t *testing.T) {
	for way, walk := range walks {
		for _, path := range []string{"0.log", "no/0.log"} {
			path = filepath.Join(filepath.Dir(container(t)), "etcd", path)
			if _, err := open(path, walk); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrPlanted) || CannotLink(err) {
				t.Errorf("%s %s: %v", way, path, err)
			}
		}
	}
}

func asRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("making this needs root")
	}
}
