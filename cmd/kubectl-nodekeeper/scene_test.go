package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodekeeper/nodekeeper/cmd/internal/fixture"
	"github.com/nodekeeper/nodekeeper/internal/cli"
)

var update = flag.Bool("update", false, "write the golden files anew")

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// other is a second node; "gone", "mute", "disabled", "forbidden" and "slow"
// are nodes with that trouble.
const other = "master-1.example.com"

// scene is a cluster on which the plugin is called.
type scene struct {
	*testing.T
	server     *httptest.Server
	logs       map[string]string // /var/log by node
	kubeconfig string

	mu       sync.Mutex // guards what follows
	requests []string   // path and range
	busy     int
	busiest  int
	noRange  bool
	forbid   bool
	out      func(http.ResponseWriter) // answers instead, if set
	truncate int                       // answers that break off in the middle
}

func stage(t *testing.T) *scene {
	t.Helper()
	s := &scene{T: t, logs: map[string]string{fixture.Node: t.TempDir(), other: t.TempDir()},
		kubeconfig: filepath.Join(t.TempDir(), "config")}
	s.write(s.kubeconfig, "")
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/nodes", s.list)
	mux.HandleFunc("GET /api/v1/namespaces/{namespace}/pods/{pod}", s.pod)
	mux.HandleFunc("GET /api/v1/nodes/{node}/proxy/logs/", s.proxy)
	s.server = httptest.NewServer(mux)
	t.Cleanup(s.server.Close)
	return s
}

// records is the record root of a node.
func (s *scene) records(node string) string { return filepath.Join(s.logs[node], "nodekeeper") }

func (s *scene) write(path, content string) {
	s.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		s.Fatal(err)
	}
}

func (s *scene) list(w http.ResponseWriter, r *http.Request) {
	if s.forbidden() {
		refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden, "nodes", `nodes is forbidden: User "eve" cannot list resource "nodes" in API group "" at the cluster scope`)
		return
	}
	names := []string{other, fixture.Node}
	switch selector := r.FormValue("labelSelector"); {
	case strings.HasPrefix(selector, "trouble="):
		names = strings.Split(strings.TrimPrefix(selector, "trouble="), "_")
	case selector == "none":
		names = nil
	case selector == "many":
		names = nil
		for i := range 40 {
			names = append(names, "n"+strings.Repeat("x", i+1))
		}
	}
	list := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"}}
	// A page for each node.
	if r.FormValue("continue") == "" && len(names) > 1 {
		list.Continue, names = "more", names[:1]
	} else if len(names) > 1 {
		names = names[1:]
	}
	for _, name := range names {
		list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	_ = json.NewEncoder(w).Encode(list)
}

func (s *scene) pod(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("namespace") != fixture.Namespace || r.PathValue("pod") != fixture.Pod {
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, "pods", "pods \""+r.PathValue("pod")+"\" not found")
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Pod", "spec": map[string]any{"nodeName": fixture.Node}})
}

// proxy answers as the API server and the kubelet behind it do: the file server
// of kubelet pkg/kubelet/kubelet.go over /var/log.
func (s *scene) proxy(w http.ResponseWriter, r *http.Request) {
	node := r.PathValue("node")
	prefix := "/api/v1/nodes/" + node + "/proxy/logs/"
	s.mu.Lock()
	s.requests = append(s.requests, strings.TrimPrefix(r.URL.Path, prefix)+" "+r.Header.Get("Range"))
	s.busy++
	s.busiest = max(s.busiest, s.busy)
	noRange, out, truncated := s.noRange, s.out, s.truncate > 0 && strings.Contains(r.URL.Path, "/log.")
	if truncated {
		s.truncate--
		w = &broken{w}
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.busy--
	}()
	if out != nil {
		out(w)
		return
	}
	if s.forbidden() || node == "forbidden" {
		refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden, "nodes", `nodes "`+node+`" is forbidden: User "eve" cannot get resource "nodes/proxy" in API group "" at the cluster scope`)
		return
	}
	switch node {
	case "gone":
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, "nodes", `nodes "gone" not found`)
		return
	case "mute":
		refuse(w, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "", "error trying to reach service: dial tcp 10.0.0.7:10250: connect: connection refused")
		return
	case "disabled":
		http.Error(w, "logs endpoint is disabled.", http.StatusMethodNotAllowed)
		return
	case "slow":
		<-r.Context().Done()
		return
	}
	dir, ok := s.logs[node]
	if !ok {
		dir = s.logs[other]
	}
	if noRange {
		r.Header.Del("Range")
	}
	w.Header().Set("Date", now.Format(http.TimeFormat))
	http.StripPrefix(prefix, http.FileServer(http.Dir(dir))).ServeHTTP(w, r)
}

func (s *scene) forbidden() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forbid
}

func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason, kind, message string) {
	status := metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: int32(code), Reason: reason, Message: message}
	if kind != "" {
		status.Details = &metav1.StatusDetails{Kind: kind}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(status)
}

func (s *scene) call(args ...string) (code int, stdout, stderr string) {
	s.Helper()
	return s.callIn(context.Background(), args...)
}

func (s *scene) callIn(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	s.Helper()
	var out, err bytes.Buffer
	p := newPlugin(&out, &err, func() time.Time { return now })
	code = p.execute(ctx, append(args, "--server", s.server.URL, "--kubeconfig", s.kubeconfig))
	return code, out.String(), err.String()
}

// asked are the requests for files so far, and forgets them.
func (s *scene) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.requests
	s.requests = nil
	return asked
}

func (s *scene) golden(name, text string) {
	s.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		s.write(path, text)
	}
	want, err := os.ReadFile(path)
	if err != nil {
		s.Fatal(err)
	}
	if string(want) != text {
		s.Errorf("%s differs (go test ./cmd/kubectl-nodekeeper -update):\n%s", path, text)
	}
}

func (s *scene) narrow(text string) {
	s.Helper()
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > cli.Width {
			s.Errorf("%d columns: %s", n, line)
		}
	}
}
