package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Server answers HTTP inside a box's network, also after the box was booted
// again, as a machine beside the node would. All methods may be called
// concurrently.
type Server struct {
	box     *Box
	address string
	handler http.Handler
	cancel  context.CancelFunc
	ended   chan struct{}

	mu   sync.Mutex // guards down
	down bool
}

// Serve answers on a TCP address of the box from now on; the caller closes the
// Server before the box is stopped. It is up when Serve returns.
func (b *Box) Serve(ctx context.Context, address string, handler http.Handler) (*Server, error) {
	leader, err := b.super.leader()
	if err != nil {
		return nil, err
	}
	listener, err := b.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve in box %s: %w", b.Name, err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &Server{box: b, address: address, handler: handler, cancel: cancel, ended: make(chan struct{})}
	go s.run(ctx, leader, listener)
	return s, nil
}

// SetDown closes the port, or opens it again; the change shows within 100 ms.
func (s *Server) SetDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// Close ends the server and waits for it.
func (s *Server) Close() {
	s.cancel()
	<-s.ended
}

// run holds a listener in the network that the box has at the moment: each boot
// makes another one.
func (s *Server) run(ctx context.Context, leader int, listener net.Listener) {
	defer close(s.ended)
	stop := s.answer(listener)
	defer func() { stop() }()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		s.mu.Lock()
		down := s.down
		s.mu.Unlock()
		now, err := s.box.super.leader()
		if down || err != nil || now != leader {
			stop()
			leader = 0
		}
		if down || err != nil || leader != 0 {
			continue
		}
		// The network may not be up yet: it is tried again.
		if listener, err := s.box.Listen(ctx, "tcp", s.address); err == nil {
			stop, leader = s.answer(listener), now
		}
	}
}

// answer serves on a listener until the function that it returns is called.
func (s *Server) answer(listener net.Listener) (stop func()) {
	server := &http.Server{Handler: s.handler}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	return sync.OnceFunc(func() {
		// What it ends with is that it was closed.
		_ = errors.Join(server.Close(), <-ended)
	})
}
