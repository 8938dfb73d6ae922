package nri

import (
	"context"
	"net"
	"sync"
)

// trunk is the socket to the runtime, which carries the calls of both sides.
// gone is closed with it, whoever closed it.
type trunk struct {
	net.Conn
	gone chan struct{}
	once sync.Once
	err  error
}

func newTrunk(conn net.Conn) *trunk {
	return &trunk{Conn: conn, gone: make(chan struct{})}
}

func (t *trunk) Close() error {
	t.once.Do(func() {
		t.err = t.Conn.Close()
		close(t.gone)
	})
	return t.err
}

// Handshake is a ttrpc.Handshaker that ties the trunk to the runtime's calls.
// ttrpc stops to listen after bytes that it cannot read, but leaves the
// connection open: the runtime would wait for every answer until its time is
// up, and keep_connected would make it so for ever.
func (t *trunk) Handshake(_ context.Context, conn net.Conn) (net.Conn, any, error) {
	return branch{Conn: conn, trunk: t}, nil, nil
}

// branch is the part of the trunk that brings the runtime's calls.
type branch struct {
	net.Conn
	trunk *trunk
}

func (b branch) Read(p []byte) (int, error) {
	n, err := b.Conn.Read(p)
	if err != nil {
		b.trunk.Close()
	}
	return n, err
}

func (b branch) Close() error {
	err := b.Conn.Close()
	b.trunk.Close()
	return err
}
