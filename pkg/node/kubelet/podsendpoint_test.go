package kubelet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// listFrom asks a kubelet whose /pods is served by handler, over TLS with a
// certificate that nobody has signed.
func listFrom(t testing.TB, handler http.HandlerFunc) ([]node.PodView, error) {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	return newPodsEndpoint(server.URL+"/pods", "", "", slog.New(slog.DiscardHandler)).list(within(t, 10*time.Second))
}

func TestPodsAreRead(t *testing.T) {
	views, err := listFrom(t, podList(t, crashingPods(110)...))
	if err != nil || len(views) != 110 {
		t.Fatalf("got %d pods and error %v, want 110", len(views), err)
	}
}

func TestARefusalSaysWhatIsMissing(t *testing.T) {
	for _, c := range []struct {
		code     int
		body     string
		sentinel error
		want     string
	}{
		{401, "Unauthorized", ErrUnauthorized, "kubelet.clientCertificate"},
		{403, "Forbidden (user=system:anonymous, verb=get, resource=nodes, subresource(s)=[pods proxy])\n", ErrForbidden, "nodes/proxy; the kubelet said: Forbidden (user=system:anonymous"},
		{500, "Authorization error (user=x)", nil, "API server"},
		{404, "\x1b[2Jno", nil, "?[2Jno"},
		{302, "", nil, "302"},
	} {
		_, err := listFrom(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://192.0.2.1/")
			w.WriteHeader(c.code)
			io.WriteString(w, c.body)
		})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%d: got error %q, want one line with %q", c.code, err, c.want)
		}
		if c.sentinel != nil && !errors.Is(err, c.sentinel) {
			t.Errorf("%d: error %q does not wrap %q", c.code, err, c.sentinel)
		}
	}
}

func TestAnIncompleteOrForeignAnswerIsAnError(t *testing.T) {
	for _, body := range []string{
		``, `null`, `[]`, `{`, `{}`, `{"kind":"Status"}`, `ok`,
		`{"items":[`, `{"items":[]`, `{"items":{}}`, `{"items":[{}]}`, `{"items":[null]}`,
		`{"items":[{"metadata":{"name":"a","namespace":"b","uid":"c"}},`,
		`{"items":[{"metadata":{"name":"a","namespace":"b","uid":"c"},"status":{"containerStatuses":"x"}}]}`,
	} {
		views, err := listFrom(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) })
		if err == nil {
			t.Errorf("%q: got %v and no error", body, views)
		}
	}
	for _, body := range []string{`{"items":null}`, `{"items":[]}`, `{"kind":"PodList","metadata":{"a":[1,{}]},"items":[]}`} {
		views, err := listFrom(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) })
		if err != nil || len(views) != 0 {
			t.Errorf("%q: got %v, %v, want no pods and no error", body, views, err)
		}
	}
}

func TestAnEndlessAnswerIsGivenUp(t *testing.T) {
	item := `{"metadata":{"name":"a","namespace":"b","uid":"c"}},`
	for name, chunk := range map[string]string{"many pods": item, "one long value": strings.Repeat("x", 4096)} {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"items":[`)
			if name != "many pods" {
				io.WriteString(w, `{"metadata":{"name":"`)
			}
			for {
				if _, err := io.WriteString(w, chunk); err != nil {
					return
				}
			}
		}))
		defer server.Close()
		p := newPodsEndpoint(server.URL, "", "", slog.New(slog.DiscardHandler))
		p.limit = 1 << 20
		if _, err := p.list(within(t, 20*time.Second)); !errors.Is(err, errTooLarge) {
			t.Errorf("%s: got error %v, want errTooLarge", name, err)
		}
	}
}

func TestAHangInEachPhaseEndsWithTheContext(t *testing.T) {
	release := make(chan struct{})
	hang := func(begin string) string {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, begin)
			if begin != "" {
				w.(http.Flusher).Flush()
			}
			<-release
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	urls := map[string]string{
		"handshake": "https://" + stopped(t, "tcp", "127.0.0.1:0"),
		"headers":   hang(""),
		"body":      hang(`{"items":[`),
	}
	t.Cleanup(func() { close(release) })
	for phase, url := range urls {
		p := newPodsEndpoint(url, "", "", slog.New(slog.DiscardHandler))
		if _, err := p.list(within(t, 200*time.Millisecond)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got error %v, want the context's", phase, err)
		}
	}
}

func TestAnotherHostIsNotAskedInTheClear(t *testing.T) {
	p := newPodsEndpoint("http://192.0.2.1:10255/pods", "", "", slog.New(slog.DiscardHandler))
	if _, err := p.list(within(t, 10*time.Second)); err == nil || !strings.Contains(err.Error(), "use https, or 127.0.0.1") {
		t.Errorf("got error %v", err)
	}
}

func TestAnotherHostMustHaveAVerifiableCertificate(t *testing.T) {
	server := httptest.NewTLSServer(podList(t))
	defer server.Close()
	p := newPodsEndpoint("https://node1.example:10250/pods", "", "", slog.New(slog.DiscardHandler))
	p.web.dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}
	_, err := p.list(within(t, 10*time.Second))
	var unverified *tls.CertificateVerificationError
	if !errors.As(err, &unverified) || !strings.Contains(err.Error(), "loopback addresses only") {
		t.Fatalf("got error %v, want a refusal that names the remedy", err)
	}
}

func TestLocalhostMustBeThisHost(t *testing.T) {
	here, there := net.Pipe() // its address is not a loopback address
	defer there.Close()
	dial := loopbackOnly(func(context.Context, string, string) (net.Conn, error) { return here, nil })
	if _, err := dial(context.Background(), "tcp", "localhost:1"); err == nil {
		t.Fatal("a connection to elsewhere was taken")
	}
	if _, err := here.Write([]byte{0}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the connection was left open: %v", err)
	}
}

func FuzzDecodeJSON(f *testing.F) {
	f.Add(`{"items":[{"metadata":{"name":"a","namespace":"b","uid":"c"}}]}`)
	f.Add(`{"items":null}`)
	f.Fuzz(func(t *testing.T, body string) {
		views, err := decodeJSON(strings.NewReader(body))
		for _, v := range views {
			if err == nil && v.Name.Name == "" {
				t.Error("a pod without a name passed")
			}
		}
	})
}

func ExampleErrForbidden() {
	err := fmt.Errorf("kubelet /pods: %w (403): the user needs the right to get nodes/proxy", ErrForbidden)
	fmt.Println(errors.Is(err, ErrForbidden))
	// Output: true
}
