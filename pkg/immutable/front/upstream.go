package front

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Target is the API server as the kubelet's kubeconfig has it.
type Target struct {
	// URL is its scheme, host and path.
	URL *url.URL
	// ServerName is what its certificate has to be for.
	ServerName string
	Roots      *x509.CertPool
	// Proxy is the way to it; nil leaves that to the environment.
	Proxy *url.URL

	pings pings
}

// Credentials are whom to be upstream; *pin.Pin.
type Credentials interface {
	GetClientCertificate(*tls.CertificateRequestInfo) (*tls.Certificate, error)
	// Fingerprint changes with the certificate.
	Fingerprint() [sha256.Size]byte
}

// Upstream carries requests to the API server as the kubelet. It is an
// http.RoundTripper; a request's scheme and host are those of the Target,
// whatever it says. When the certificate or the Target changes, new requests
// take new connections and the old ones end with their last request.
type Upstream struct {
	credentials Credentials
	log         *slog.Logger
	answered    atomic.Int64

	mu          sync.Mutex // guards all below
	target      Target
	fingerprint [sha256.Size]byte
	now         *generation
	old         []*generation
}

// NewUpstream connects to nothing yet.
func NewUpstream(t Target, c Credentials, log *slog.Logger) *Upstream {
	u := &Upstream{credentials: c, log: log, target: t, fingerprint: c.Fingerprint()}
	u.now = newGeneration(t, c)
	return u
}

// Target is the API server now.
func (u *Upstream) Target() Target {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.target
}

// SetTarget changes the API server.
func (u *Upstream) SetTarget(t Target) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.target = t
	u.renew()
}

// renew begins a new generation of connections. Called with mu held.
func (u *Upstream) renew() {
	u.now.retired = time.Now()
	u.old = append(u.old, u.now)
	u.now = newGeneration(u.target, u.credentials)
}

const (
	lookInterval = time.Second
	// oldTime is longer than any watch of a kubelet: 30 to 60 minutes.
	oldTime = 65 * time.Minute
)

// Run follows the certificate, and ends old connections, until the context
// ends; then it ends all.
func (u *Upstream) Run(ctx context.Context) {
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			u.look(time.Now())
		case <-ctx.Done():
			u.close()
			return
		}
	}
}

func (u *Upstream) look(now time.Time) {
	fingerprint := u.credentials.Fingerprint()
	u.mu.Lock()
	defer u.mu.Unlock()
	if fingerprint != u.fingerprint && fingerprint != [sha256.Size]byte{} {
		u.fingerprint = fingerprint
		u.renew()
		u.log.Info("the kubelet's new certificate is used from now on")
	}
	kept := u.old[:0]
	for _, g := range u.old {
		g.closeIdle()
		if now.Sub(g.retired) > oldTime {
			g.closeOne() // not all at once
		}
		if g.open() > 0 {
			kept = append(kept, g)
		}
	}
	clear(u.old[len(kept):])
	u.old = kept
}

func (u *Upstream) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, g := range append(u.old, u.now) {
		g.closeIdle()
		for g.closeOne() {
		}
	}
}

// RoundTrip is for http.Client and httputil.ReverseProxy.
func (u *Upstream) RoundTrip(r *http.Request) (*http.Response, error) {
	u.mu.Lock()
	g, target := u.now, u.target
	u.mu.Unlock()
	if r.URL.Host != target.URL.Host || r.URL.Scheme != target.URL.Scheme {
		r = r.Clone(r.Context())
		r.URL.Scheme, r.URL.Host = target.URL.Scheme, target.URL.Host
	}
	transport := g.http2
	if r.Header.Get("Upgrade") != "" {
		transport = g.http1 // HTTP/2 has no upgrades
	}
	response, err := transport.RoundTrip(r)
	if err == nil {
		u.answered.Store(time.Now().UnixNano())
	}
	return response, err
}

// Answered is when the API server answered last.
func (u *Upstream) Answered() time.Time { return time.Unix(0, u.answered.Load()) }

// Direct is a client with connections of its own, for looking at the API server
// past all that could be wrong with the others.
func (u *Upstream) Direct() *http.Client {
	g := newGeneration(u.Target(), u.credentials)
	g.http2.DisableKeepAlives = true
	return &http.Client{Transport: g.http2}
}

// generation is the connections of one certificate to one Target.
type generation struct {
	http2, http1 *http.Transport
	retired      time.Time

	mu    sync.Mutex // guards conns
	conns map[net.Conn]bool
}

func newGeneration(t Target, c Credentials) *generation {
	g := &generation{conns: map[net.Conn]bool{}}
	g.http1, g.http2 = g.transport(t, c), g.transport(t, c)
	g.http1.Protocols = new(http.Protocols)
	g.http1.Protocols.SetHTTP1(true)
	g.http2.ForceAttemptHTTP2 = true
	// When all streams of a connection are in use, there is another one.
	g.http2.HTTP2 = t.pings.config(0)
	return g
}

func (g *generation) transport(t Target, c Credentials) *http.Transport {
	proxy := http.ProxyFromEnvironment
	if t.Proxy != nil {
		proxy = http.ProxyURL(t.Proxy)
	}
	dialer := &net.Dialer{Timeout: dialTime, KeepAliveConfig: keepAlive}
	return &http.Transport{
		Proxy: proxy,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			raw, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return g.track(raw), nil
		},
		TLSClientConfig: &tls.Config{
			MinVersion: tls.VersionTLS12, RootCAs: t.Roots, ServerName: t.ServerName, GetClientCertificate: c.GetClientCertificate,
		},
		TLSHandshakeTimeout: dialTime,
		// What the kubelet did not ask for is not asked for.
		DisableCompression: true,
		IdleConnTimeout:    90 * time.Second,
	}
}

// keepAlive finds a peer that is gone within half a minute.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}

// tracked is a connection that its generation knows until it is closed.
type tracked struct {
	net.Conn
	generation *generation
}

func (g *generation) track(c net.Conn) net.Conn {
	t := &tracked{c, g}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.conns[t] = true
	return t
}

func (t *tracked) Close() error {
	t.generation.mu.Lock()
	delete(t.generation.conns, t)
	t.generation.mu.Unlock()
	return t.Conn.Close()
}

func (g *generation) open() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.conns)
}

func (g *generation) closeIdle() {
	g.http2.CloseIdleConnections()
	g.http1.CloseIdleConnections()
}

// closeOne closes a connection with all its requests; false if there is none.
func (g *generation) closeOne() bool {
	g.mu.Lock()
	var one net.Conn
	for one = range g.conns {
		break
	}
	g.mu.Unlock()
	if one == nil {
		return false
	}
	_ = one.Close()
	return true
}

// Address is the API server's host and port.
func (t Target) Address() string {
	if t.URL.Port() != "" {
		return t.URL.Host
	}
	return strings.TrimSuffix(t.URL.Host, ":") + ":443"
}

// Renew has new requests take new connections: those that there are may be
// dead, which their pings tell half a minute later.
func (u *Upstream) Renew() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.renew()
}
