package guard

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"flag"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/rest"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
)

var record = flag.Bool("record", false, "record the conversations in testdata anew")

// conversations are by the names of their files.
var conversations = map[string]variant{
	"watch-list-protobuf": {byWatch, true, false},
	"watch-list-json":     {byWatch, true, true},
	"list-protobuf":       {byWatch, false, false},
	"list-json":           {byWatch, false, true},
	"get-protobuf":        {byGet, false, false},
}

// TestRecordConversations plays the scenario to the kubelet's managers, direct,
// and writes down what is said.
func TestRecordConversations(t *testing.T) {
	if !*record {
		t.Skip("the conversations are recorded with -record")
	}
	for name, v := range conversations {
		t.Run(name, func(t *testing.T) {
			featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, watchList, v.WatchList)
			c := startCluster(t)
			r := c.recording(t, v, c.stage(t, v))
			for i, s := range scenario(v.Strategy) {
				r.begin(i)
				if s.act != nil {
					r.outage.Store(s.outage)
					s.act(t, c)
					r.outage.Store(false)
				}
				s.kubelet(t, r)
			}
			r.end()
			r.save(t, name)
		})
	}
}

// recording is a kubelet's managers before a proxy that keeps what it passes on.
type recording struct {
	variant
	workload *workload
	config   *rest.Config
	managers *kubelet
	end      func()
	outage   atomic.Bool

	mu        sync.Mutex // guards all below
	step      int
	exchanges []*recorded
	conns     map[net.Conn]bool
}

// recorded is an exchange that may still go on.
type recorded struct {
	exchange
	over bool
	body bytes.Buffer
}

func (c *cluster) recording(t *testing.T, v variant, w *workload) *recording {
	t.Helper()
	r := &recording{variant: v, workload: w, conns: map[net.Conn]bool{}}
	node := c.CA.Issue(t, "system:node:"+nodeName, "system:nodes").TLS(t)
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	through := &httputil.ReverseProxy{
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{node}, RootCAs: c.CA.Pool(), MinVersion: tls.VersionTLS12},
			Protocols:       protocols, DisableCompression: true,
		},
		FlushInterval: -1,
		Rewrite:       func(p *httputil.ProxyRequest) { p.SetURL(&url.URL{Scheme: "https", Host: c.Host}) },
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	front := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			if r.outage.Load() {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			e := r.began(q)
			defer r.ended(e)
			through.ServeHTTP(&recordingWriter{w, r, e}, q)
		}),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{c.CA.Issue(t, "recorder", "").TLS(t)}, MinVersion: tls.VersionTLS12},
		HTTP2:     &http.HTTP2Config{MaxConcurrentStreams: 1000},
		ConnState: func(c net.Conn, s http.ConnState) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.conns[c] = s != http.StateClosed
		},
	}
	over := make(chan struct{})
	go func() { _ = front.ServeTLS(listener, "", ""); close(over) }()
	r.end = sync.OnceFunc(func() { _ = front.Close(); <-over })
	t.Cleanup(r.end)
	r.config = kubeletConfig(c.config(t, "system:node:"+nodeName, "system:nodes", agent))
	r.config.Host = "https://" + listener.Addr().String()
	if v.JSON {
		r.config.ContentType, r.config.AcceptContentTypes = "application/json", "application/json"
	}
	return r
}

func (r *recording) begin(step int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.step = step
}

func (r *recording) began(q *http.Request) *recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := &recorded{exchange: exchange{
		Step: r.step, URI: q.URL.RequestURI(), After: -1,
		Accept: q.Header.Get("Accept"), AcceptEncoding: q.Header.Get("Accept-Encoding"), UserAgent: q.UserAgent(),
	}}
	r.exchanges = append(r.exchanges, e)
	return e
}

func (r *recording) ended(e *recorded) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.over, e.Until = true, r.step
}

type recordingWriter struct {
	http.ResponseWriter
	recording *recording
	exchange  *recorded
}

func (w *recordingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *recordingWriter) WriteHeader(status int) {
	w.recording.mu.Lock()
	w.exchange.Status = status
	w.exchange.ContentType, w.exchange.ContentEncoding = w.Header().Get("Content-Type"), w.Header().Get("Content-Encoding")
	w.recording.mu.Unlock()
	w.ResponseWriter.WriteHeader(status)
}

func (w *recordingWriter) Write(p []byte) (int, error) {
	w.recording.mu.Lock()
	w.exchange.body.Write(p)
	w.recording.mu.Unlock()
	return w.ResponseWriter.Write(p)
}

func (r *recording) start(t *testing.T) {
	t.Helper()
	r.managers = newKubelet(t, r.config, r.Strategy)
	r.managers.register(r.workload.pods[0].pod)
}

func (r *recording) stop(t *testing.T) {
	t.Helper()
	r.managers.stop(r.workload)
	until(t, 10*time.Second, "the streams to end", func() bool { return r.open() == 0 })
}

// cut ends every connection.
func (r *recording) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c, open := range r.conns {
		if open {
			_ = c.Close()
		}
	}
}

// open is how many answers of the present kubelet go on.
func (r *recording) open() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.exchanges {
		if !e.over && e.Status == http.StatusOK {
			n++
		}
	}
	return n
}

// quiet waits until nothing has been asked for a while.
func (r *recording) quiet(t *testing.T) {
	t.Helper()
	count := func() int {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.exchanges)
	}
	for was, since := count(), time.Now(); time.Since(since) < 2*time.Second; time.Sleep(20 * time.Millisecond) {
		if n := count(); n != was {
			was, since = n, time.Now()
		}
	}
}

// sees reads an object that is there, or that is not.
func (r *recording) sees(t *testing.T, o reference, there bool) {
	t.Helper()
	r.wait(t, o, func(_ string, err error) bool { return there && err == nil || !there && apierrors.IsNotFound(err) })
}

// has reads an object that has a value.
func (r *recording) has(t *testing.T, o reference, value string) {
	t.Helper()
	r.wait(t, o, func(data string, err error) bool { return err == nil && data == value })
}

func (r *recording) wait(t *testing.T, o reference, holds func(string, error) bool) {
	t.Helper()
	until(t, time.Minute, o.key(), func() bool { return holds(r.managers.get(o)) })
}

// save writes what was said, without what never got an answer from the API
// server, and finds out where each request had its version from.
func (r *recording) save(t *testing.T, name string) {
	t.Helper()
	out := conversation{Kubelet: r.variant}
	for _, e := range r.exchanges {
		if e.Status == 0 || e.Status == http.StatusBadGateway || e.URI == "/version" {
			continue
		}
		e.Body = e.body.Bytes()
		if version := e.resumes(t); version != "" {
			for i, earlier := range out.Exchanges {
				if earlier.of(t) != e.of(t) {
					continue
				}
				for _, s := range earlier.recorded(t) {
					if s.version == version {
						e.After = i
					}
				}
			}
			if e.After < 0 {
				t.Fatalf("%s: nothing has told this version", e.URI)
			}
		}
		out.Exchanges = append(out.Exchanges, &e.exchange)
	}
	text, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(conversationFile(name)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(conversationFile(name), append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}
