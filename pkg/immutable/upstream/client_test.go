package upstream

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/wire"
)

var key = shape.Key{Resource: shape.Secrets, Namespace: "ns", Name: "a"}

// apiServer answers with what the test says, and keeps what it was asked.
type apiServer struct {
	*Client
	mu       sync.Mutex
	requests []*http.Request
	at       []time.Time
}

func serve(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, n int)) *apiServer {
	t.Helper()
	s := &apiServer{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r)
		s.at = append(s.at, time.Now())
		n := len(s.requests)
		s.mu.Unlock()
		answer(w, r, n)
	}))
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	s.Client = New(Options{HTTP: server.Client(), Server: at, Version: "1.2.3", MaxObjectBytes: 1 << 10})
	return s
}

func list(t *testing.T, w http.ResponseWriter, version string, items ...*wire.Object) {
	t.Helper()
	body, err := wire.EncodeList(wire.Protobuf, wire.Secrets, version, items...)
	if err != nil {
		t.Error(err)
	}
	w.Header().Set("Content-Type", wire.Protobuf.ContentType())
	_, _ = w.Write(body)
}

func TestAListIsByNameAndTheGuardsOwn(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { list(t, w, "7") })
	version, object, err := s.List(t.Context(), key, "5", shape.NotOlderThan)
	if version != "7" || object != nil || err != nil {
		t.Errorf("got %q, %v, %v", version, object, err)
	}
	r := s.requests[0]
	if got := r.URL.String(); got != "/api/v1/namespaces/ns/secrets?fieldSelector=metadata.name%3Da&resourceVersion=5&resourceVersionMatch=NotOlderThan" {
		t.Errorf("asked for %s", got)
	}
	want := http.Header{
		"Accept":          {"application/vnd.kubernetes.protobuf"},
		"Accept-Encoding": {"identity"},
		"User-Agent":      {"nodekeeper-proxy/1.2.3"},
	}
	for name := range r.Header {
		if r.Header.Get(name) != want.Get(name) {
			t.Errorf("header %s is %q, want %q", name, r.Header.Get(name), want.Get(name))
		}
	}
	if len(r.Header) != len(want) {
		t.Errorf("sent %v", r.Header)
	}
}

func TestARefusalKeepsStatusWaitAndBody(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set("Retry-After", "3")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, "hold on")
	})
	for _, ask := range map[string]func() error{
		"list":  func() error { _, _, err := s.List(t.Context(), key, "", ""); return err },
		"watch": func() error { _, err := s.Watch(t.Context(), key, "5"); return err },
	} {
		err := ask()
		var refusal *Refusal
		if !errors.As(err, &refusal) || refusal.Code != http.StatusTooManyRequests || string(refusal.Body) != "hold on" || refusal.Wait() != 3*time.Second {
			t.Errorf("got %v", err)
		}
		if strings.Contains(err.Error(), "hold on") {
			t.Errorf("the error shows the body: %v", err)
		}
	}
	if len(s.requests) != 2 {
		t.Errorf("%d requests were made, want no retries", len(s.requests))
	}
}

func TestAPodThatTheAuthorizerDoesNotKnowYetIsWaitedFor(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n < 4 {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "forbidden: no relationship found between node 'n1' and this object")
			return
		}
		list(t, w, "7")
	})
	version, _, err := s.List(t.Context(), key, "", "")
	if version != "7" || err != nil {
		t.Fatalf("got %q, %v", version, err)
	}
	for i, want := range unknownPodWaits[:3] {
		if got := s.at[i+1].Sub(s.at[i]); got < want {
			t.Errorf("attempt %d followed after %v, want %v", i+2, got, want)
		}
	}
}

func TestAnotherRefusalIsNotWaitedFor(t *testing.T) {
	for name, body := range map[string]string{"always unknown": "no relationship found between node 'n1' and this object", "no right": "forbidden"} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
				w.WriteHeader(http.StatusForbidden)
				_, _ = io.WriteString(w, body)
			})
			_, _, err := s.List(t.Context(), key, "", "")
			var refusal *Refusal
			if !errors.As(err, &refusal) || refusal.Code != http.StatusForbidden {
				t.Errorf("got %v", err)
			}
			want := 1
			if body != "forbidden" {
				want = 1 + len(unknownPodWaits)
			}
			if len(s.requests) != want {
				t.Errorf("asked %d times, want %d", len(s.requests), want)
			}
		})
	}
}

func TestAnswersThatAreNoneAreErrors(t *testing.T) {
	object := func(name string, size int) *wire.Object {
		return objectOf(t, name, size)
	}
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter)
		want   error
	}{
		"too large":       {func(w http.ResponseWriter) { list(t, w, "7", object("a", 100<<10)) }, ErrTooLarge},
		"another object":  {func(w http.ResponseWriter) { list(t, w, "7", object("b", 1)) }, ErrAnswer},
		"two objects":     {func(w http.ResponseWriter) { list(t, w, "7", object("a", 1), object("a", 1)) }, ErrAnswer},
		"no version":      {func(w http.ResponseWriter) { list(t, w, "x") }, wire.ErrResourceVersion},
		"another type":    {func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>") }, ErrAnswer},
		"another content": {func(w http.ResponseWriter) { w.Header().Set("Content-Type", wire.Protobuf.ContentType()) }, ErrAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { c.answer(w) })
			if _, _, err := s.List(t.Context(), key, "", ""); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	})
	if _, _, err := s.List(t.Context(), key, "", ""); err == nil || len(s.requests) != 1 {
		t.Errorf("got %v after %d requests", err, len(s.requests))
	}
}

func TestAWatchResumesFromItsVersionAndEnds(t *testing.T) {
	left := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		w.Header().Set("Content-Type", wire.Protobuf.StreamContentType())
		for _, version := range []string{"6", "7"} {
			frame, err := wire.EncodeBookmark(wire.Protobuf, wire.Secrets, version, false)
			if err != nil {
				t.Error(err)
			}
			_, _ = w.Write(frame)
		}
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(left)
	})
	events, err := s.Watch(t.Context(), key, "5")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"6", "7"} {
		if ev, err := events.Next(); err != nil || ev.Type != watch.Bookmark || ev.ResourceVersion != want {
			t.Errorf("got %v, %v", ev, err)
		}
	}
	asked := s.requests[0].URL.Query()
	if asked.Get("resourceVersion") != "5" || asked.Get("allowWatchBookmarks") != "true" || asked.Get("watch") != "true" || len(asked) != 5 {
		t.Errorf("asked for %v", asked)
	}
	events.Close()
	events.Close()
	if _, err := events.Next(); err == nil {
		t.Error("a closed watch went on")
	}
	select {
	case <-left:
	case <-time.After(10 * time.Second):
		t.Error("the API server was not told that the watch is over")
	}
}
