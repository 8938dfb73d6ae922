package front

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/localca"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/pin"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/pkitest"
)

const serverName = "api-int.example.org"

// bound is the longest that a busy machine may take over what is to happen at
// once; requests last longer, so that none ends by itself meanwhile.
const bound = time.Minute

// scene is an API server, a node and a proxy between them.
type scene struct {
	testing.TB
	ca      *pkitest.Authority
	node    *pkitest.Node
	kubelet pkitest.Pair
	local   *localca.Authority
	pin     *pin.Pin

	api *httptest.Server
	// handler answers for the API server.
	handler atomic.Pointer[http.HandlerFunc]
	// conns counts the connections that the API server got.
	conns atomic.Int64

	upstream *Upstream
	front    *Front
	address  string
	stop     func()
}

type arrangement struct {
	guard http.Handler
	// streams is the API server's limit for each connection.
	streams int
	pings   pings
	// ends is how long connections and requests get at the end; 0 for usual.
	ends time.Duration
}

func stage(tb testing.TB, a arrangement) *scene {
	tb.Helper()
	ca := pkitest.New(tb)
	s := &scene{TB: tb, ca: ca, kubelet: ca.Kubelet("n1")}
	s.answer(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.TLS.PeerCertificates[0].Subject.CommonName)
	})
	s.api = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*s.handler.Load())(w, r) }))
	s.api.TLS = &tls.Config{Certificates: []tls.Certificate{ca.Server(serverName).Certificate}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.Pool()}
	s.api.EnableHTTP2 = true
	s.api.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	s.api.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: a.streams}
	s.api.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.conns.Add(1)
		}
	}
	s.api.StartTLS()
	tb.Cleanup(func() {
		s.api.CloseClientConnections()
		s.api.Close()
	})
	s.node = ca.NewNode(s.api.URL, serverName)
	s.node.Rotate(s.kubelet)
	s.pin = pin.New(pin.Options{Directory: s.node.PKI, Kubeconfig: s.node.Kubeconfig, Previous: 10 * time.Minute, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	local, err := localca.Open(tb.TempDir(), []string{serverName}, time.Now)
	if err != nil {
		tb.Fatal(err)
	}
	s.local = local
	server, err := url.Parse(s.api.URL)
	if err != nil {
		tb.Fatal(err)
	}
	s.upstream = NewUpstream(Target{URL: server, ServerName: serverName, Roots: ca.Pool(), pings: a.pings}, s.pin, slog.New(slog.DiscardHandler))
	tb.Cleanup(s.upstream.close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s.address = l.Addr().String()
	s.front, s.stop = s.serve(l, a)
	tb.Cleanup(s.stop)
	return s
}

// serve runs a front on a listener; the returned function ends it.
func (s *scene) serve(l net.Listener, a arrangement) (*Front, func()) {
	s.Helper()
	log := slog.New(slog.DiscardHandler)
	f := New(Options{Listener: l, Certificate: s.local.GetCertificate, Pin: s.pin, Guard: a.guard, PassThrough: NewPassThrough(s.upstream, log),
		Dial: s.upstream.Dial, MaxStreams: 100, Log: log, pings: a.pings, drain: a.ends, stop: a.ends})
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() {
		if err := f.Run(ctx); err != nil {
			s.Error(err)
		}
	})
	return f, func() {
		cancel()
		ended.Wait()
	}
}

func (s *scene) answer(f http.HandlerFunc) { s.handler.Store(&f) }

// roots are those of the derived kubeconfig: both the cluster's and the node's.
func (s *scene) roots() *x509.CertPool {
	pool := s.ca.Pool()
	pool.AppendCertsFromPEM(s.local.PEM())
	return pool
}

// client is a kubelet's: HTTP/2 on one connection.
func (s *scene) client(with ...pkitest.Pair) *http.Client {
	c := &tls.Config{RootCAs: s.roots(), ServerName: serverName}
	for _, p := range with {
		c.Certificates = append(c.Certificates, p.Certificate)
	}
	t := &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: true, DisableCompression: true}
	s.Cleanup(t.CloseIdleConnections)
	return &http.Client{Transport: t, Timeout: 2 * bound}
}

// get asks for a path at an address and returns the body.
func (s *scene) get(c *http.Client, path string) (string, error) {
	response, err := c.Get("https://" + s.address + path)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

func (s *scene) wants(c *http.Client, path, want string) {
	s.Helper()
	if body, err := s.get(c, path); err != nil || body != want {
		s.Errorf("%s: %q, %v instead of %q", path, body, err, want)
	}
}

// until waits for a condition.
func (s *scene) until(what string, is func() bool) {
	s.Helper()
	limit := time.After(bound)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-limit:
			s.Fatalf("never: %s", what)
		}
	}
}
