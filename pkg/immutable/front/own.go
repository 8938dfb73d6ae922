package front

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// alivePath is answered by the proxy itself, on its own connections only.
const alivePath = "/nodekeeper/alive"

// bypassedByte is what its own connections get during a bypass. The API server
// is not bothered with them.
const bypassedByte = '4'

// ownPorts are the local ports of the proxy's connections to itself.
type ownPorts struct {
	mu    sync.Mutex // guards ports
	ports map[int]bool
}

func (o *ownPorts) set(port int, on bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ports == nil {
		o.ports = map[int]bool{}
	}
	if on {
		o.ports[port] = true
	} else {
		delete(o.ports, port)
	}
}

func (o *ownPorts) has(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ports[tcp.Port]
}

// ownConn gives its port back when it is closed.
type ownConn struct {
	net.Conn
	done func()
}

func (c *ownConn) Close() error {
	defer c.done()
	return c.Conn.Close()
}

// DialOwn connects to the port that the kubelet connects to, in a way that the
// proxy can tell: such a connection says nothing about the kubelet, and is not
// passed on in a bypass.
func (f *Front) DialOwn(ctx context.Context) (net.Conn, error) {
	var port int
	// The port has to be known before the connection can be accepted.
	d := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		controlled := raw.Control(func(fd uintptr) { port, err = bindLoopback(int(fd)) })
		if err == nil {
			err = controlled
		}
		if err == nil {
			f.own.set(port, true)
		}
		return err
	}}
	c, err := d.DialContext(ctx, "tcp", f.options.Listener.Addr().String())
	done := sync.OnceFunc(func() { f.own.set(port, false) })
	if err != nil {
		done()
		return nil, err
	}
	return &ownConn{c, done}, nil
}

// bindLoopback gives a socket a local port.
func bindLoopback(fd int) (int, error) {
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return 0, err
	}
	var address unix.Sockaddr = &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	if domain == unix.AF_INET6 {
		address = &unix.SockaddrInet6{Addr: [16]byte(net.IPv6loopback)}
	}
	if err := unix.Bind(fd, address); err != nil {
		return 0, err
	}
	switch a, err := unix.Getsockname(fd); a := a.(type) {
	case *unix.SockaddrInet4:
		return a.Port, nil
	case *unix.SockaddrInet6:
		return a.Port, nil
	default:
		return 0, fmt.Errorf("no local port: %w", err)
	}
}

func isOwn(ctx context.Context) bool {
	c := connOf(ctx)
	return c != nil && c.own
}

// Knock goes the way of the kubelet as far as it lies in the proxy: through the
// port, TLS with the kubelet's certificate, and HTTP; in a bypass through the
// port. The client is from OwnClient.
func (f *Front) Knock(ctx context.Context, client *http.Client) error {
	if f.Bypassed() != "" {
		return f.knockBypassed(ctx)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+f.options.Listener.Addr().String()+alivePath, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(r)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusNoContent {
		return fmt.Errorf("the proxy answers itself with status %d", response.StatusCode)
	}
	return nil
}

func (f *Front) knockBypassed(ctx context.Context) error {
	c, err := f.DialOwn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	var b [1]byte
	if _, err := io.ReadFull(c, b[:]); err != nil {
		return fmt.Errorf("no answer in the bypass: %w", err)
	}
	return nil
}

// OwnClient is a client that takes the kubelet's way with a new connection for
// each request. Roots is the authority of the certificate that Front shows.
func (f *Front) OwnClient(config *tls.Config) *http.Client {
	config = config.Clone()
	config.GetClientCertificate = f.options.Pin.GetClientCertificate
	return &http.Client{Transport: &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return f.DialOwn(ctx) },
		TLSClientConfig:   config,
		ForceAttemptHTTP2: true,
		DisableKeepAlives: true,
	}}
}
