package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// door is a listener that lets in root only, not too many at once, and nobody
// for long. Those it turns away see their connection closed.
type door struct {
	net.Listener
	log    *slog.Logger
	bounds bounds
	self   uint32

	mu     sync.Mutex // guards inside
	inside map[*guest]struct{}
}

func newDoor(listener net.Listener, log *slog.Logger, bounds bounds) *door {
	return &door{
		Listener: listener,
		log:      log,
		bounds:   bounds,
		// Tests do not always run as root; the agent does.
		self:   uint32(os.Geteuid()),
		inside: map[*guest]struct{}{},
	}
}

// Accept waits for a connection that may come in.
func (d *door) Accept() (net.Conn, error) {
	for {
		conn, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		g, err := d.admit(conn)
		if err == nil {
			return g, nil
		}
		_ = conn.Close()
		d.log.Warn("a connection to the event socket was turned away", "error", err)
	}
}

func (d *door) admit(conn net.Conn) (*guest, error) {
	if uid, err := peer(conn); err != nil || (uid != 0 && uid != d.self) {
		return nil, fmt.Errorf("user %d: %w", uid, errors.Join(err, unix.EPERM))
	}
	if err := conn.SetDeadline(time.Now().Add(d.bounds.time)); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.inside) >= d.bounds.connections {
		return nil, fmt.Errorf("%d connections are open", len(d.inside))
	}
	g := &guest{Conn: conn, door: d}
	d.inside[g] = struct{}{}
	return g, nil
}

// clear closes all connections.
func (d *door) clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for g := range d.inside {
		_ = g.Conn.Close()
	}
}

func peer(conn net.Conn) (uid uint32, err error) {
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, errors.New("not a unix socket")
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return 0, err
	}
	if failed != nil {
		return 0, failed
	}
	return cred.Uid, nil
}
