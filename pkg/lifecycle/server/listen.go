package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	"golang.org/x/sys/unix"
)

// ErrLive is returned by Listen when somebody else listens at the path.
var ErrLive = errors.New("another process listens there")

// SocketName is the name of the socket's unit, by which systemd hands it over.
const SocketName = "nodekeeper.socket"

// liveTimeout is for a socket that neither accepts nor refuses.
const liveTimeout = time.Second

// Listen opens the socket at the path, for root only. A socket that nobody
// listens at any more is replaced; anything else in its place is an error. Closing
// the listener removes the socket.
func Listen(path string) (net.Listener, error) {
	if err := clear(path); err != nil {
		return nil, err
	}
	// The mode of the socket before it is bound is the mode of its name: there
	// is no moment at which others could connect.
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var mode error
		if err := c.Control(func(fd uintptr) { mode = unix.Fchmod(int(fd), 0o600) }); err != nil {
			return err
		}
		return mode
	}}
	listener, err := config.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen for events: %w", err)
	}
	return listener, nil
}

// clear removes a socket that was left behind.
func clear(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("listen for events at %s: there is something else: %v", path, info.Mode())
	}
	conn, err := net.DialTimeout("unix", path, liveTimeout)
	if err == nil {
		_ = conn.Close()
	}
	// Only a refusal is proof: a full backlog belongs to a process that is slow
	// or stopped.
	if !errors.Is(err, unix.ECONNREFUSED) {
		return fmt.Errorf("listen for events at %s: %w", path, ErrLive)
	}
	return os.Remove(path)
}

// Activated returns the socket that systemd opened for this process, or nil if
// there is none. It takes all sockets that systemd has handed over, and the
// environment variables that tell of them: call it once.
func Activated() (net.Listener, error) {
	var found net.Listener
	var failed error
	for _, f := range activation.Files(true) {
		if f.Name() == SocketName && found == nil && failed == nil {
			// This duplicates the descriptor.
			found, failed = net.FileListener(f)
		}
		_ = f.Close()
	}
	if failed != nil {
		return nil, fmt.Errorf("take %s from systemd: %w", SocketName, failed)
	}
	if _, ok := found.(*net.UnixListener); found != nil && !ok {
		_ = found.Close()
		return nil, fmt.Errorf("take %s from systemd: not a unix stream socket", SocketName)
	}
	return found, nil
}
