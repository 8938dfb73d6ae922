package front

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// exchange is what both ends saw of a request.
type exchange struct {
	Method, URI    string
	Asked          http.Header
	Sent           string
	Length         int64
	Status         int
	Answered       http.Header
	Received       string
	Trailer        http.Header
	AnsweredLength int64
}

func TestRequestsAndAnswersPassUntouched(t *testing.T) {
	s := stage(t, arrangement{})
	var mu sync.Mutex
	var seen exchange
	s.answer(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		seen = exchange{Method: r.Method, URI: r.RequestURI, Asked: r.Header.Clone(), Sent: string(body), Length: r.ContentLength}
		mu.Unlock()
		status := http.StatusOK
		for name, values := range r.Header {
			if name, ok := strings.CutPrefix(name, "Want-"); ok {
				w.Header()[name] = values
			}
		}
		w.Header()["Date"] = []string{"Mon, 30 Nov 2026 10:00:00 GMT"}
		if code := r.Header.Get("Status"); code != "" {
			_, _ = fmt.Sscan(code, &status)
		}
		w.WriteHeader(status)
		if r.Method != http.MethodHead && status != http.StatusNoContent && status != http.StatusNotModified {
			_, _ = io.WriteString(w, r.Header.Get("Body"))
		}
		if r.Header.Get("Late") != "" {
			w.Header().Set(http.TrailerPrefix+"Late", "late")
		}
	})
	for name, c := range map[string]struct {
		method, uri, body string
		header            http.Header
	}{
		"a GET":                {"GET", "/api/v1/nodes/n1", "", http.Header{"User-Agent": {"kubelet/v1.37.2 (linux/amd64) kubernetes/abc"}, "Accept": {"application/vnd.kubernetes.protobuf,application/json"}, "Accept-Encoding": {"gzip"}}},
		"no user agent":        {"GET", "/version", "", http.Header{"User-Agent": {""}}},
		"a query as it is":     {"GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1&b=;&a=%zz&c&a=2", "", nil},
		"an escaped path":      {"GET", "/api/v1/proxy/a%2Fb//c/../d", "", nil},
		"a PATCH":              {"PATCH", "/api/v1/nodes/n1/status", `{"a":"b"}`, http.Header{"Content-Type": {"application/strategic-merge-patch+json"}}},
		"a DELETE with a body": {"DELETE", "/api/v1/pods/x", `{"kind":"DeleteOptions"}`, nil},
		"an empty POST":        {"POST", "/api/v1/events", "", nil},
		"a refusal": {"GET", "/x", "", http.Header{"Status": {"429"}, "Body": {"slow"}, "Want-Retry-After": {"3"}, "Want-X-Kubernetes-Pf-Flowschema-Uid": {"1"},
			"Want-Audit-Id": {"2"}, "Want-Warning": {`299 - "a"`, `299 - "b"`}, "Want-Content-Type": {"text/plain"}}},
		"no content type":         {"GET", "/x", "", http.Header{"Body": {"<html>"}}},
		"no content":              {"GET", "/x", "", http.Header{"Status": {"204"}}},
		"not modified":            {"GET", "/x", "", http.Header{"Status": {"304"}, "Want-Etag": {"1"}}},
		"a redirect":              {"GET", "/x", "", http.Header{"Status": {"307"}, "Want-Location": {"/y"}}},
		"a HEAD":                  {"HEAD", "/x", "", nil},
		"an encoded body":         {"GET", "/x", "", http.Header{"Want-Content-Encoding": {"gzip"}, "Body": {"not really"}}},
		"a trailer":               {"GET", "/x", "", http.Header{"Late": {"1"}, "Body": {"b"}, "Te": {"trailers"}}},
		"who it is forwarded for": {"GET", "/x", "", http.Header{"X-Forwarded-For": {"192.0.2.1"}, "Forwarded": {"for=192.0.2.1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			client := s.client(s.kubelet)
			client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			via := func(address string) exchange {
				r, err := http.NewRequest(c.method, "https://"+address, strings.NewReader(c.body))
				if err != nil {
					t.Fatal(err)
				}
				path, query, _ := strings.Cut(c.uri, "?")
				r.URL.Opaque, r.URL.RawQuery = "//"+address+path, query
				r.Header = c.header.Clone()
				if r.Header == nil {
					r.Header = http.Header{}
				}
				response, err := client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer response.Body.Close()
				body, err := io.ReadAll(response.Body)
				if err != nil {
					t.Fatal(err)
				}
				mu.Lock()
				defer mu.Unlock()
				x := seen
				x.Status, x.Answered, x.Received, x.Trailer, x.AnsweredLength = response.StatusCode, response.Header, string(body), response.Trailer, response.ContentLength
				if x.Received == "" && x.AnsweredLength < 0 {
					// The end of an HTTP/2 stream came in a frame of its own.
					x.AnsweredLength = 0
				}
				return x
			}
			direct := via(s.api.Listener.Addr().String())
			if diff := cmp.Diff(direct, via(s.address)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEachPieceOfAWatchComesAtOnce(t *testing.T) {
	s := stage(t, arrangement{})
	next := make(chan string)
	s.answer(func(w http.ResponseWriter, _ *http.Request) {
		for piece := range next {
			_, _ = io.WriteString(w, piece)
			w.(http.Flusher).Flush()
		}
	})
	go func() { next <- "" }()
	response, err := s.client(s.kubelet).Get("https://" + s.address + "/api/v1/pods?watch=1") // the head comes before any event
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	events := bufio.NewReader(response.Body)
	for _, event := range []string{"one\n", "two\n"} {
		next <- event
		if got, err := events.ReadString('\n'); err != nil || got != event {
			t.Errorf("%q, %v", got, err)
		}
	}
	close(next)
	if _, err := events.ReadString('\n'); err != io.EOF {
		t.Errorf("the end: %v", err)
	}
}

func TestAWatchThatBreaksIsNoCleanEnd(t *testing.T) {
	s := stage(t, arrangement{})
	s.answer(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "one")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	if body, err := s.get(s.client(s.kubelet), "/"); err == nil || body != "one" {
		t.Errorf("%q, %v", body, err)
	}
}

func TestAClientThatGoesEndsItsRequestAtTheAPIServer(t *testing.T) {
	s := stage(t, arrangement{})
	began, ended := make(chan bool, 1), make(chan bool, 1)
	s.answer(func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		began <- true
		<-r.Context().Done()
		ended <- true
	})
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+s.address+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := s.client(s.kubelet).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	<-began
	cancel()
	select {
	case <-ended:
	case <-time.After(bound):
		t.Error("the request goes on")
	}
}

// noise is n bytes that do not compress.
func noise(n int) []byte {
	out := make([]byte, 0, n+sha256.Size)
	for sum := sha256.Sum256(nil); len(out) < n; sum = sha256.Sum256(sum[:]) {
		out = append(out, sum[:]...)
	}
	return out[:n]
}

func TestBigBodiesPassBothWays(t *testing.T) {
	s := stage(t, arrangement{})
	s.answer(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	client := s.client(s.kubelet)
	for _, size := range []int{replayLimit, replayLimit + 1, 8 << 20} {
		sent := noise(size)
		for name, body := range map[string]io.Reader{"of known length": bytes.NewReader(sent), "of unknown length": io.MultiReader(bytes.NewReader(sent))} {
			response, err := client.Post("https://"+s.address+"/", "", body)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if err != nil || !bytes.Equal(got, sent) {
				t.Errorf("%d bytes %s: %d, %v", size, name, len(got), err)
			}
		}
	}
}

func TestInformationalAnswersPass(t *testing.T) {
	s := stage(t, arrangement{})
	s.answer(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</a>")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusOK)
	})
	var hints atomic.Int64
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
		if code == http.StatusEarlyHints && h.Get("Link") == "</a>" {
			hints.Add(1)
		}
		return nil
	}})
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+s.address+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := s.client(s.kubelet).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if hints.Load() != 1 || response.StatusCode != http.StatusOK {
		t.Errorf("%d hints, status %d", hints.Load(), response.StatusCode)
	}
}

func TestUpgradesPass(t *testing.T) {
	s := stage(t, arrangement{})
	s.answer(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 1 || r.Header.Get("Connection") != "Upgrade" {
			t.Errorf("%s, %v", r.Proto, r.Header)
		}
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		_, _ = fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", r.Header.Get("Upgrade"))
		line, _ := rw.ReadString('\n')
		_, _ = io.WriteString(c, "echo "+line)
	})
	for _, protocol := range []string{"SPDY/3.1", "websocket"} {
		c, err := tls.Dial("tcp", s.address, &tls.Config{RootCAs: s.roots(), ServerName: serverName, Certificates: []tls.Certificate{s.kubelet.Certificate}})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprintf(c, "POST /exec HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", protocol)
		r := bufio.NewReader(c)
		response, err := http.ReadResponse(r, nil)
		if err != nil || response.StatusCode != http.StatusSwitchingProtocols || response.Header.Get("Upgrade") != protocol {
			t.Fatalf("%s: %+v, %v", protocol, response, err)
		}
		_, _ = io.WriteString(c, "hello\n")
		if line, err := r.ReadString('\n'); err != nil || line != "echo hello\n" {
			t.Errorf("%s: %q, %v", protocol, line, err)
		}
		_ = c.Close()
	}
}

func TestAnAPIServerThatIsNotThereIsSaidToBe(t *testing.T) {
	s := stage(t, arrangement{})
	s.api.Listener.Close()
	s.api.CloseClientConnections()
	response, err := s.client(s.kubelet).Get("https://" + s.address + "/api/v1/nodes/n1")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") != "" ||
		response.Header.Get(UnreachableHeader) == "" || !strings.Contains(string(body), `"kind":"Status"`) {
		t.Errorf("%d, %v, %s, %v", response.StatusCode, response.Header, body, err)
	}
}

func TestWithoutACertificateNothingGoesUpstream(t *testing.T) {
	s := stage(t, arrangement{})
	u := NewUpstream(s.upstream.Target(), nobody{}, s.front.options.Log)
	r, err := http.NewRequest(http.MethodGet, s.api.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.RoundTrip(r); !errors.Is(err, errNobody) {
		t.Error(err)
	}
}

var errNobody = errors.New("nobody")

type nobody struct{}

func (nobody) GetClientCertificate(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	return nil, errNobody
}
func (nobody) Fingerprint() [sha256.Size]byte { return [sha256.Size]byte{} }

func TestMoreStreamsThanAConnectionTakesGetMoreConnections(t *testing.T) {
	s := stage(t, arrangement{streams: 10})
	release := make(chan bool)
	var open atomic.Int64
	s.answer(func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		open.Add(1)
		<-release
	})
	client := s.client(s.kubelet)
	var all sync.WaitGroup
	defer all.Wait()
	defer close(release)
	for range 55 {
		all.Go(func() {
			if _, err := s.get(client, "/"); err != nil {
				t.Error(err)
			}
		})
	}
	s.until("all are open", func() bool { return open.Load() == 55 })
	if n := s.conns.Load(); n < 6 {
		t.Errorf("%d connections", n)
	}
}

// An API server that balances its clients asks them now and then to connect
// anew (--goaway-chance).
func TestARequestThatMeetsAGoAwayIsSentAgain(t *testing.T) {
	s := stage(t, arrangement{})
	s.answer(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		_, _ = io.Copy(w, r.Body)
	})
	client := s.client(s.kubelet)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 40 {
				response, err := client.Post("https://"+s.address+"/lease", "", strings.NewReader("lease"))
				if err != nil {
					t.Error(err)
					return
				}
				body, err := io.ReadAll(response.Body)
				_ = response.Body.Close()
				if err != nil || string(body) != "lease" {
					t.Errorf("%d: %q, %v", response.StatusCode, body, err)
				}
			}
		})
	}
	all.Wait()
}
