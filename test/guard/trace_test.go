package guard

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/nodekeeper/nodekeeper/pkg/immutable"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/wire"
)

// deadline is the kubelet's for a first read:
// pkg/kubelet/util/manager/watch_based_manager.go Get, v1.37.
const deadline = time.Second

// trace is when the first request for each object was where. A nil trace sees
// nothing.
type trace struct {
	lists atomic.Int64 // at the API server now
	mu    sync.Mutex   // guards times and the paths in it
	times map[string]*path
}

// path is a first read's way there and back. What it did not come to is zero.
type path struct {
	begun     time.Time // the mount reads
	sent      time.Time // the kubelet's client hands the request to its transport
	connected time.Time // it has a connection
	written   time.Time // the request is on it
	received  time.Time // the guard has it
	asked     time.Time // the guard's LIST has its token and goes out
	told      time.Time // the API server's answer to it has been read
	answered  time.Time // the guard has written its answer
	arrived   time.Time // the kubelet's client has read all of the answer
	taken     time.Time // the mount has it
	missed    time.Time // or gives up
	// throttled is when the API server answered 429, and queued when the guard got
	// the request behind others that were with the API server.
	throttled, queued time.Time
}

func newTrace() *trace { return &trace{times: map[string]*path{}} }

// note sets one of the times, the first time only.
func (tr *trace) note(key string, which func(*path) *time.Time) {
	if tr == nil {
		return
	}
	now := time.Now()
	tr.mu.Lock()
	defer tr.mu.Unlock()
	p := tr.times[key]
	if p == nil {
		p = &path{}
		tr.times[key] = p
	}
	if at := which(p); at.IsZero() {
		*at = now
	}
}

// upstream sees the guard's LISTs.
func (tr *trace) upstream(u immutable.Upstream) immutable.Upstream {
	if tr == nil {
		return u
	}
	return &tracedUpstream{u, tr}
}

type tracedUpstream struct {
	immutable.Upstream
	trace *trace
}

func (u *tracedUpstream) List(ctx context.Context, key shape.Key, version, match string) (string, *wire.Object, error) {
	u.trace.lists.Add(1)
	defer u.trace.lists.Add(-1)
	u.trace.note(key.String(), func(p *path) *time.Time { return &p.asked })
	defer u.trace.note(key.String(), func(p *path) *time.Time { return &p.told })
	return u.Upstream.List(ctx, key, version, match)
}

// front sees what the guard receives and answers.
func (tr *trace) front(h http.Handler) http.Handler {
	if tr == nil {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if q, ok := shape.Parse(r); ok {
			tr.note(q.Key.String(), func(p *path) *time.Time { return &p.received })
			if tr.lists.Load() >= inFlight-1 { // one is handed on at times
				tr.note(q.Key.String(), func(p *path) *time.Time { return &p.queued })
			}
			w = &tracedWriter{w, func() { tr.note(q.Key.String(), func(p *path) *time.Time { return &p.answered }) }}
		}
		h.ServeHTTP(w, r)
	})
}

type tracedWriter struct {
	http.ResponseWriter
	wrote func()
}

func (w *tracedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *tracedWriter) Write(p []byte) (int, error) {
	defer w.wrote()
	return w.ResponseWriter.Write(p)
}

// client sees what a kubelet's client sends and reads.
func (tr *trace) client(c *rest.Config) *rest.Config {
	if tr == nil {
		return c
	}
	c = rest.CopyConfig(c)
	c.Wrap(func(inner http.RoundTripper) http.RoundTripper { return &tracedClient{inner, tr} })
	return c
}

type tracedClient struct {
	inner http.RoundTripper
	trace *trace
}

func (c *tracedClient) RoundTrip(r *http.Request) (*http.Response, error) {
	// As it will arrive: a server sees no host in the URL.
	arriving := &http.Request{Method: r.Method, Header: r.Header, URL: &url.URL{Path: r.URL.Path, RawQuery: r.URL.RawQuery}}
	q, ok := shape.Parse(arriving)
	if !ok {
		return c.inner.RoundTrip(r)
	}
	key := q.Key.String()
	c.trace.note(key, func(p *path) *time.Time { return &p.sent })
	r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) {
			c.trace.note(key, func(p *path) *time.Time { return &p.connected })
		},
		WroteRequest: func(httptrace.WroteRequestInfo) {
			c.trace.note(key, func(p *path) *time.Time { return &p.written })
		},
	}))
	response, err := c.inner.RoundTrip(r)
	switch {
	case err != nil:
	case response.StatusCode == http.StatusTooManyRequests:
		c.trace.note(key, func(p *path) *time.Time { return &p.throttled })
	default:
		response.Body = &tracedBody{ReadCloser: response.Body, stream: q.Verb != shape.List, all: func() {
			c.trace.note(key, func(p *path) *time.Time { return &p.arrived })
		}}
	}
	return response, err
}

// tracedBody waits for the end of a LIST, and of a watch-list's first state.
type tracedBody struct {
	io.ReadCloser
	stream bool
	seen   []byte
	all    func()
}

func (b *tracedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.all == nil {
		return n, err
	}
	if b.stream {
		b.seen = append(b.seen, p[:n]...)
	}
	if err != nil || bytes.Contains(b.seen, []byte("k8s.io/initial-events-end")) {
		b.all()
		b.all, b.seen = nil, nil
	}
	return n, err
}

// inFlight is from how many LISTs at the API server on the guard may let others
// wait: pkg/immutable/options.go, consistentInFlight.
const inFlight = 16

// Parts that go by other names where it is known what was waited for.
const (
	ofBucket  = "guard: bucket, coalescing"
	ofQueue   = "guard: behind LISTs that are with the API server"
	throttled = "API server answers 429"
)

// leg is a part of a first read's way.
type leg struct {
	name     string
	from, to func(*path) time.Time
}

// guardedLegs and directLegs are the parts in their order. Together they are the
// whole of the wait.
var (
	guardedLegs = []leg{
		{"kubelet: its reflector's start, and its own rate limit", atBegun, atSent},
		{"connection", atSent, atConnected},
		{"request written and received", atConnected, atReceived},
		{ofBucket, atReceived, atAsked},
		{"API server answers the LIST", atAsked, atTold},
		{"guard writes its answer", atTold, atAnswered},
		{"answer read by the client", atAnswered, atArrived},
		{"client takes it in", atArrived, atTaken},
	}
	directLegs = []leg{
		{"kubelet: its reflector's start, and its own rate limit", atBegun, atSent},
		{"connection", atSent, atConnected},
		{"request written", atConnected, atWritten},
		{"API server answers", atWritten, atArrived},
		{"client takes it in", atArrived, atTaken},
	}
)

func atBegun(p *path) time.Time     { return p.begun }
func atSent(p *path) time.Time      { return p.sent }
func atConnected(p *path) time.Time { return p.connected }
func atWritten(p *path) time.Time   { return p.written }
func atReceived(p *path) time.Time  { return p.received }
func atAsked(p *path) time.Time     { return p.asked }
func atTold(p *path) time.Time      { return p.told }
func atAnswered(p *path) time.Time  { return p.answered }
func atArrived(p *path) time.Time   { return p.arrived }
func atTaken(p *path) time.Time     { return p.taken }

// explanation is why first reads were late: of how many of them each leg took
// the most of the second, and how much all of them spent there.
type explanation struct {
	legs  []leg
	mine  map[string]int
	spent map[string]time.Duration
	total int
}

// explain looks at the reads that took longer than the kubelet waits, and begins
// anew.
func (tr *trace) explain(guarded bool) explanation {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	e := explanation{legs: directLegs, mine: map[string]int{}, spent: map[string]time.Duration{}}
	if guarded {
		e.legs = guardedLegs
	}
	for _, p := range tr.times {
		if p.begun.IsZero() || p.missed.IsZero() {
			continue
		}
		e.total++
		gaveUp := p.begun.Add(deadline)
		most, name := time.Duration(-1), ""
		at := p.begun
		for _, l := range e.legs {
			// What was not reached in the second was still waited for at its end.
			to := l.to(p)
			if to.IsZero() || to.After(gaveUp) {
				to = gaveUp
			}
			if to.Before(at) {
				to = at // another read of the same object was ahead
			}
			e.spent[l.name] += to.Sub(at)
			if d := to.Sub(at); d > most {
				most, name = d, l.name
				if name == ofBucket && !p.queued.IsZero() {
					name = ofQueue
				}
			}
			at = to
		}
		if !p.throttled.IsZero() && p.throttled.Before(gaveUp) {
			name = throttled
		}
		e.mine[name]++
	}
	clear(tr.times)
	return e
}

func (e explanation) print(t testing.TB, name string) {
	t.Helper()
	if e.total == 0 {
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d objects whose first read missed 1 s, explained by", name, e.total)
	for _, l := range e.legs {
		fmt.Fprintf(&b, "\n  %5d  mean %4d ms  %s", e.mine[l.name], e.spent[l.name].Milliseconds()/int64(e.total), l.name)
		if n := e.mine[ofQueue]; l.name == ofBucket && n > 0 {
			fmt.Fprintf(&b, "\n  %5d                %s", n, ofQueue)
		}
	}
	if n := e.mine[throttled]; n > 0 {
		fmt.Fprintf(&b, "\n  %5d                %s", n, throttled)
	}
	t.Log(b.String())
}

// pulse measures how long this process had to wait for a processor, at most,
// until the function it returns is called.
func pulse() (stop func() time.Duration) {
	const beat = 10 * time.Millisecond
	done, most := make(chan struct{}), make(chan time.Duration)
	go func() {
		longest := time.Duration(0)
		for {
			at := time.Now()
			select {
			case <-time.After(beat):
				longest = max(longest, time.Since(at)-beat)
			case <-done:
				most <- longest
				return
			}
		}
	}()
	return func() time.Duration {
		close(done)
		return <-most
	}
}
