package front

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// mostUnknown is how many connections there may be of which it is not known yet
// whose they are. A kubelet opens some 40 at once.
const mostUnknown = 512

// conn is a connection that is served here.
type conn struct {
	net.Conn
	front *Front
	// own is a connection of the proxy to itself.
	own bool
	// known is set when the certificate was the kubelet's, asked when a request
	// has come.
	known, asked atomic.Bool
}

type connKey struct{}

// withConn is for http.Server.ConnContext: a request's context has its
// connection.
func withConn(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		if c, ok := t.NetConn().(*conn); ok {
			return context.WithValue(ctx, connKey{}, c)
		}
	}
	return ctx
}

// connOf is the connection of a request; nil if it came in another way.
func connOf(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}

// Close forgets the connection as well.
func (c *conn) Close() error {
	c.front.forget(c)
	return c.Conn.Close()
}

// accept takes connections and gives each to the mode of the moment. Only a
// listener that is closed ends it.
func (f *Front) accept(ctx context.Context) error {
	for wait := time.Duration(0); ; {
		c, err := f.options.Listener.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return fmt.Errorf("accept connections of the kubelet: %w", err)
			}
			// Out of files, or a client that was gone already.
			wait = min(max(2*wait, 5*time.Millisecond), time.Second)
			f.options.Log.Warn("accept connections of the kubelet", "error", err)
			select {
			case <-time.After(wait):
			case <-ctx.Done():
			}
			continue
		}
		wait = 0
		f.accepted.Add(1)
		f.take(ctx, c)
	}
}

// take decides under the lock under which the mode changes, so that no
// connection of the old mode is left when it has.
func (f *Front) take(ctx context.Context, c net.Conn) {
	own := f.own.has(c.RemoteAddr())
	tcp, ok := c.(*net.TCPConn)
	f.mu.Lock()
	bypass := len(f.reasons) > 0
	if f.stopped || bypass && !ok {
		f.mu.Unlock()
		_ = c.Close()
		return
	}
	if !bypass {
		served := &conn{Conn: c, front: f, own: own}
		f.open[served] = true
		f.unknown = append(f.unknown, served)
		late := f.late()
		f.mu.Unlock()
		if late != nil {
			_ = late.Close()
		}
		f.handoff.give(served)
		return
	}
	f.open[tcp] = true
	f.work.Go(func() {
		defer f.forget(tcp)
		defer tcp.Close()
		if own {
			_, _ = tcp.Write([]byte{bypassedByte})
			return
		}
		f.spliced.Add(1)
		f.splice(ctx, tcp)
	})
	f.mu.Unlock()
}

// late is the oldest connection of which it is not known whose it is, where
// there are too many: whoever opens them would leave the kubelet no file
// descriptor. A kubelet is known after milliseconds. Called with mu held.
func (f *Front) late() *conn {
	f.unknown = slices.DeleteFunc(f.unknown, func(c *conn) bool { return c.known.Load() || !f.open[c] })
	if len(f.unknown) <= mostUnknown {
		return nil
	}
	oldest := f.unknown[0]
	f.unknown = f.unknown[1:]
	return oldest
}

// know is for http.Server.ConnState: whoever comes to HTTP has shown the
// kubelet's certificate.
func know(c net.Conn, state http.ConnState) {
	if t, ok := c.(*tls.Conn); ok && (state == http.StateActive || state == http.StateIdle) {
		if c, ok := t.NetConn().(*conn); ok {
			c.known.Store(true)
		}
	}
}

func (f *Front) forget(c net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, c)
}

// handoff is the listener of the HTTP server: connections that were accepted
// before.
type handoff struct {
	address net.Addr
	conns   chan net.Conn
	once    sync.Once
	closed  chan struct{}
}

func newHandoff(address net.Addr) *handoff {
	return &handoff{address: address, conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (h *handoff) give(c net.Conn) {
	select {
	case h.conns <- c:
	case <-h.closed:
		_ = c.Close()
	}
}

func (h *handoff) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

func (h *handoff) Close() error {
	h.once.Do(func() { close(h.closed) })
	return nil
}

func (h *handoff) Addr() net.Addr { return h.address }
