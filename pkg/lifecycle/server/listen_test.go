package server

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestListenReplacesOnlyADeadSocket(t *testing.T) {
	t.Run("nothing there", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "s")
		listener, err := Listen(path)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != fs.ModeSocket|0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the socket stays: %v", err)
		}
	})
	t.Run("a dead one", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "s")
		old, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
		if err != nil {
			t.Fatal(err)
		}
		old.SetUnlinkOnClose(false)
		if err := old.Close(); err != nil {
			t.Fatal(err)
		}
		listener, err := Listen(path)
		if err != nil {
			t.Fatal(err)
		}
		_ = listener.Close()
	})
	t.Run("a live one", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "s")
		old, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer old.Close()
		if _, err := Listen(path); !errors.Is(err, ErrLive) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a file", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "s")
		if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Listen(path); err == nil {
			t.Error("replaced")
		}
		if data, _ := os.ReadFile(path); string(data) != "mine" {
			t.Errorf("now %q", data)
		}
	})
}

// TestActivated starts this test again as systemd would: with the socket as
// descriptor 3, and the process's own number in LISTEN_PID.
func TestActivated(t *testing.T) {
	if os.Getenv("LISTEN_FDS") != "" {
		listener, err := Activated()
		switch {
		case err != nil:
			t.Fatal(err)
		case listener == nil:
			t.Log("no socket")
		default:
			t.Log("socket at " + listener.Addr().String())
		}
		if again, err := Activated(); again != nil || err != nil {
			t.Errorf("again: %v, %v", again, err)
		}
		return
	}
	path := filepath.Join(t.TempDir(), "s")
	stream, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for name, c := range map[string]struct{ names, says string }{
		"ours":         {SocketName, "socket at " + path},
		"of another":   {"other.socket", "no socket"},
		"without name": {"", "no socket"},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := stream.File()
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("/bin/sh", "-c", `LISTEN_PID=$$ exec "$0" -test.run '^TestActivated$' -test.v`, self)
			cmd.Env = append(os.Environ(), "LISTEN_FDS=1", "LISTEN_FDNAMES="+c.names)
			cmd.ExtraFiles = []*os.File{file}
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), c.says) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
