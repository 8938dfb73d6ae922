package front

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/pin"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
)

const (
	// leastStreams is the least of a connection's streams: a kubelet has all of
	// its watches in one.
	leastStreams = 2500
	// handshakeTime bounds a TLS handshake, and the head of an HTTP/1 request.
	handshakeTime = 10 * time.Second
	idleTime      = 3 * time.Minute
	// At the end, connections that were just made get drainTime at most for their
	// first request, which is long for a node that is not busy, and all requests
	// stopTime to end. Watches never end by themselves; the kubelet resumes them.
	drainTime = time.Second
	stopTime  = 500 * time.Millisecond
)

// Options are what a Front is made of.
type Options struct {
	// Listener is closed by Run.
	Listener net.Listener
	// Certificate is the one to show the kubelet.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	Pin         *pin.Pin
	// Guard gets the requests of the one shape; nil passes those through too.
	Guard       http.Handler
	PassThrough http.Handler
	// Dial connects to the API server, for a bypass.
	Dial func(context.Context) (*net.TCPConn, error)
	// MaxStreams is how many requests of the shape are to be held open.
	MaxStreams int
	Log        *slog.Logger

	pings pings
	// drain and stop are drainTime and stopTime if zero.
	drain, stop time.Duration
}

// pings find a peer that is gone without a word.
type pings struct{ after, timeout time.Duration }

// kubeletPings are the kubelet's own health check of its connection
// (apimachinery pkg/util/net http.go, v0.37).
var kubeletPings = pings{30 * time.Second, 15 * time.Second}

func (p pings) config(streams int) *http.HTTP2Config {
	if p == (pings{}) {
		p = kubeletPings
	}
	return &http.HTTP2Config{MaxConcurrentStreams: streams, SendPingTimeout: p.after, PingTimeout: p.timeout}
}

// Front serves the kubelet. Its methods may be called from several goroutines.
type Front struct {
	options Options
	server  *http.Server
	handoff *handoff
	own     ownPorts

	draining atomic.Bool

	accepted, guarded, passed, spliced, panics atomic.Uint64

	mu sync.Mutex // guards all below
	// reasons to bypass; none is to serve.
	reasons map[string]bool
	open    map[net.Conn]bool
	// unknown are those of which it is not known whose they are, oldest first.
	unknown []*conn
	stopped bool
	work    sync.WaitGroup
}

// New makes a Front. It does not serve before Run.
func New(o Options) *Front {
	f := &Front{options: o, handoff: newHandoff(o.Listener.Addr()), reasons: map[string]bool{}, open: map[net.Conn]bool{}}
	streams := max(leastStreams, o.MaxStreams+o.MaxStreams/4)
	f.server = &http.Server{
		Handler:           http.HandlerFunc(f.serve),
		TLSConfig:         f.tls(),
		ReadHeaderTimeout: handshakeTime,
		IdleTimeout:       idleTime,
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
		ConnContext:       withConn,
		ConnState:         know,
		HTTP2:             o.pings.config(streams),
	}
	return f
}

func (f *Front) tls() *tls.Config {
	config := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: f.options.Certificate,
		// The pin refuses who has no certificate, and counts it.
		ClientAuth:       tls.RequestClientCert,
		VerifyConnection: f.options.Pin.Verify,
	}
	own := config.Clone()
	own.VerifyConnection = f.options.Pin.VerifyOwn
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if c, ok := hello.Conn.(*conn); ok && c.own {
			return own, nil
		}
		return nil, nil
	}
	return config
}

// Run serves until the context ends, and then leaves the connections that wait
// in the queue of a listener from systemd to the next process.
func (f *Front) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- f.server.Serve(tls.NewListener(f.handoff, f.server.TLSConfig)) }()
	unhook := context.AfterFunc(ctx, func() { _ = f.options.Listener.Close() })
	defer unhook()
	err := f.accept(ctx)
	if ctx.Err() != nil {
		err = nil
	}
	cancel()
	f.stop()
	if e := <-served; err == nil && e != nil && !errors.Is(e, http.ErrServerClosed) {
		err = fmt.Errorf("serve the kubelet: %w", e)
	}
	f.work.Wait()
	return err
}

// stop lets short requests end and cuts the rest. The server's Shutdown alone
// would close connections whose first request is on its way.
func (f *Front) stop() {
	f.draining.Store(true)
	for end := time.Now().Add(cmp.Or(f.options.drain, drainTime)); f.expects() && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(f.options.stop, stopTime))
	defer cancel()
	_ = f.server.Shutdown(ctx)
	_ = f.server.Close()
	f.mu.Lock()
	f.stopped = true
	f.mu.Unlock()
	f.cut(func(net.Conn) bool { return true })
}

// expects tells whether there is a connection on which no request has come yet.
func (f *Front) expects() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.open {
		if c, ok := c.(*conn); ok && !c.asked.Load() {
			return true
		}
	}
	return false
}

// serve is the one place where a request's way is chosen.
func (f *Front) serve(w http.ResponseWriter, r *http.Request) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			panic(p) // ends the stream alone
		default:
			f.panics.Add(1)
			f.options.Log.Error("a request failed inside the proxy", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			panic(http.ErrAbortHandler)
		}
	}()
	if c := connOf(r.Context()); c != nil {
		c.asked.Store(true)
	}
	if f.draining.Load() {
		w.Header().Set("Connection", "close") // over HTTP/2 a GOAWAY, and no header
	}
	switch {
	case isOwn(r.Context()) && r.URL.Path == alivePath:
		w.WriteHeader(http.StatusNoContent)
		return
	case f.options.Guard == nil || isOwn(r.Context()):
	default:
		if _, ok := shape.Parse(r); ok {
			f.guarded.Add(1)
			f.options.Guard.ServeHTTP(w, r)
			return
		}
	}
	f.passed.Add(1)
	f.options.PassThrough.ServeHTTP(w, r)
}

// Bypass adds a reason to pass connections on unread, or takes it back. Where
// that changes the mode, connections of the other mode are cut.
func (f *Front) Bypass(reason string, on bool) {
	f.mu.Lock()
	was := len(f.reasons) > 0
	if on {
		f.reasons[reason] = true
	} else {
		delete(f.reasons, reason)
	}
	is := len(f.reasons) > 0
	f.mu.Unlock()
	if was == is {
		return
	}
	if is {
		f.options.Log.Warn("bypass: connections are passed on to the API server unread", "reason", reason)
	} else {
		f.options.Log.Info("end of the bypass: the kubelet is served again")
	}
	f.cut(func(c net.Conn) bool {
		_, served := c.(*conn)
		return served == is
	})
}

// Bypassed tells why connections are passed on unread; empty if they are not.
func (f *Front) Bypassed() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(slices.Sorted(maps.Keys(f.reasons)), ", ")
}

// cut closes connections.
func (f *Front) cut(which func(net.Conn) bool) {
	f.mu.Lock()
	var closing []net.Conn
	for c := range f.open {
		if which(c) {
			closing = append(closing, c)
		}
	}
	f.mu.Unlock()
	for _, c := range closing {
		_ = c.Close()
	}
}

// Stats counts since the start.
type Stats struct {
	// Bypassed is why connections are passed on unread now.
	Bypassed string `json:"bypassed,omitempty"`
	// Open are connections now.
	Open     int    `json:"open"`
	Accepted uint64 `json:"accepted"`
	// Guarded and Passed are requests, Spliced connections.
	Guarded uint64       `json:"guarded"`
	Passed  uint64       `json:"passed"`
	Spliced uint64       `json:"spliced"`
	Panics  uint64       `json:"panics"`
	Refused pin.Refusals `json:"refused"`
}

// Stats tells how much was served.
func (f *Front) Stats() Stats {
	s := Stats{Bypassed: f.Bypassed(), Accepted: f.accepted.Load(), Guarded: f.guarded.Load(), Passed: f.passed.Load(),
		Spliced: f.spliced.Load(), Panics: f.panics.Load(), Refused: f.options.Pin.Refused()}
	f.mu.Lock()
	defer f.mu.Unlock()
	s.Open = len(f.open)
	return s
}
