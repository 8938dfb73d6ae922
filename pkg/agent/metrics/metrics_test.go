package metrics

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/immutable"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/counted"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/front"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// scene is metrics on a node whose clock stands still unless a test moves it.
type scene struct {
	*testing.T
	*Metrics
	now node.Instant
	log lines
}

func (s *scene) Now() node.Instant { return s.now }
func (s *scene) BootID() string    { return "boot-1" }

// lines is a log that several goroutines write.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

func stage(t *testing.T) *scene {
	dir := t.TempDir()
	s := &scene{T: t, now: node.Instant{Wall: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Boot: 10 * time.Hour}}
	s.Metrics = New(Options{
		Version: "v1.2.3", Listen: "127.0.0.1:0", Clock: s, Proxy: filepath.Join(dir, "proxy"), Derived: filepath.Join(dir, "kubeconfig"),
		Late: 35 * time.Second, Log: slog.New(slog.NewTextHandler(&s.log, nil)),
	})
	return s
}

// look publishes verdicts as of now.
func (s *scene) look(verdicts ...status.Verdict) *status.Status {
	st := &status.Status{
		Agent:    status.Agent{Looks: 7, Taken: s.now, Budgets: map[restartpolicy.StepKind]int{restartpolicy.StopContainer: 12, restartpolicy.RestartRuntime: 1}},
		Node:     status.Node{Name: "n1", Kubelet: status.Kubelet{View: node.ViewPods}},
		Verdicts: verdicts,
		Records: &status.Records{
			Records: 3, Live: 2, Bytes: 4096, LimitBytes: 1 << 30, Crashes: map[string]int{"oom": 2}, Evictions: map[string]int{"age": 1},
			Events: map[string]int64{"hook": 9}, Sources: map[string]string{"hook": "ok", "nri": "not connected"}, Spool: 1, SpoolDropped: 5,
		},
	}
	s.Published(st)
	return st
}

func (s *scene) pass(d time.Duration) {
	s.now = node.Instant{Wall: s.now.Wall.Add(d), Boot: s.now.Boot + d}
}

// guarded has the watch guard tell its counts now.
func (s *scene) guarded() {
	s.Helper()
	if err := os.MkdirAll(s.Proxy, 0o700); err != nil {
		s.Fatal(err)
	}
	err := counted.Write(s.Proxy, counted.Stats{Time: s.now.Wall, Bypass: []counted.Bypass{counted.Sick}, Front: front.Stats{Passed: 11},
		Guard: immutable.Stats{Counters: map[string]int64{"lists_answered": 4, "first_reads_late": 2}, Streams: 30, Bytes: 5000}})
	if err != nil {
		s.Fatal(err)
	}
}

// wants requires lines of the page, and forbids those that begin with "!".
func (s *scene) wants(wanted ...string) {
	s.Helper()
	page := "\n" + string(s.Text())
	for _, line := range wanted {
		if unwanted, no := strings.CutPrefix(line, "!"); no {
			if strings.Contains(page, "\n"+unwanted) {
				s.Errorf("there is %q in%s", unwanted, page)
			}
		} else if !strings.Contains(page, "\n"+line+"\n") {
			s.Errorf("no line %q in%s", line, page)
		}
	}
}

var forgotten = status.Verdict{Namespace: "kube-system", Pod: "etcd-n1", Container: "etcd", State: restartpolicy.Forgotten,
	ForSeconds: 90, Overdue: true, BlockedBy: []string{"gap", "breaker"}, Steps: []restartpolicy.StepKind{restartpolicy.StopContainer}}

func parsed(t *testing.T, page []byte) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(page))
	if err != nil {
		t.Fatalf("%v in\n%s", err, page)
	}
	return families
}

// full is a page with every family.
func full(t *testing.T) []byte {
	s := stage(t)
	s.guarded()
	s.look(forgotten)
	return s.Text()
}

func TestPrometheusReadsThePage(t *testing.T) {
	page := full(t)
	families := parsed(t, page)
	for _, f := range Families {
		got, ok := families[f.Name]
		if !ok {
			t.Errorf("%s is not on the page", f.Name)
			continue
		}
		if strings.ToLower(got.GetType().String()) != f.Type || got.GetHelp() != f.Help {
			t.Errorf("%s: %v %q", f.Name, got.GetType(), got.GetHelp())
		}
		for _, m := range got.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, l.GetName())
			}
			if !slices.Equal(labels, f.Labels) {
				t.Errorf("%s has labels %v, want %v", f.Name, labels, f.Labels)
			}
		}
	}
	if len(families) != len(Families) {
		t.Errorf("%d families on the page, %d are known", len(families), len(Families))
	}
	problems, err := promlint.New(bytes.NewReader(page)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %+v", err, problems)
	}
}

func TestLabelsAreEscaped(t *testing.T) {
	s := stage(t)
	odd := forgotten
	odd.Container = "a\\b\"c\nd\xff"
	s.look(odd)
	families := parsed(t, s.Text())
	for _, l := range families["nodekeeper_container_down_seconds"].Metric[0].Label {
		if l.GetName() == "container" && l.GetValue() != "a\\b\"c\nd\uFFFD" {
			t.Errorf("%q", l.GetValue())
		}
	}
}

func TestAnAgentThatHasNotLookedSaysNothingOfTheNode(t *testing.T) {
	s := stage(t)
	s.wants("!nodekeeper_containers", "!nodekeeper_looks_total", "!nodekeeper_proxy_up", `process_start_time_seconds 1.7723664e+09`)
	parsed(t, s.Text())
}

func TestVerdictsInhibitorsAndBudgetsAreCounted(t *testing.T) {
	s := stage(t)
	unit := status.Verdict{Container: "crio.service", State: restartpolicy.Healthy}
	s.look(forgotten, unit)
	s.wants(`nodekeeper_containers{verdict="forgotten"} 1`, `nodekeeper_containers{verdict="healthy"} 1`, `nodekeeper_containers{verdict="created-not-started"} 0`,
		"nodekeeper_containers_overdue 1", `nodekeeper_inhibitors{inhibitor="gap"} 1`, "nodekeeper_breaker_open 1",
		"nodekeeper_acts_budget_remaining 1", `nodekeeper_step_budget_remaining{step="stop-container"} 12`,
		"nodekeeper_last_look_timestamp_seconds 1.7723664e+09", `nodekeeper_source_up{source="kubelet"} 1`,
		`nodekeeper_crashes_total{class="oom"} 2`, `nodekeeper_crashes_total{class="crash"} 0`, `nodekeeper_record_evictions_total{reason="age"} 1`,
		`nodekeeper_lifecycle_source_up{source="nri"} 0`, `nodekeeper_lifecycle_events_total{source="hook"} 9`, "nodekeeper_spool_dropped_total 5")
}

func TestActsAreCountedFromZero(t *testing.T) {
	s := stage(t)
	s.look()
	s.wants(`nodekeeper_acts_total{step="restart-kubelet",result="healed"} 0`)
	for _, result := range []restartpolicy.Result{restartpolicy.ResultDone, restartpolicy.ResultHealed, restartpolicy.ResultDone} {
		s.Acted(restartpolicy.Act{Step: restartpolicy.Step{Kind: restartpolicy.RestartKubelet}, Result: result})
	}
	s.wants(`nodekeeper_acts_total{step="restart-kubelet",result="healed"} 1`, `nodekeeper_acts_total{step="restart-kubelet",result="done"} 2`)
}

func TestDownTimeGoesOnFromOneStateToTheNext(t *testing.T) {
	s := stage(t)
	v := forgotten
	v.State, v.ForSeconds = restartpolicy.InBackOff, 60
	s.look(v)
	s.wants(`nodekeeper_container_down_seconds{namespace="kube-system",pod="etcd-n1",container="etcd"} 60`)
	s.pass(time.Minute)
	v.State, v.ForSeconds = restartpolicy.Forgotten, 0
	s.look(v)
	s.wants(`nodekeeper_container_down_seconds{namespace="kube-system",pod="etcd-n1",container="etcd"} 120`)
	v.State = restartpolicy.Healthy
	s.look(v)
	s.wants("!nodekeeper_container_down_seconds")
	v.State = restartpolicy.InBackOff
	s.look(v)
	s.wants(`nodekeeper_container_down_seconds{namespace="kube-system",pod="etcd-n1",container="etcd"} 0`)
}

func TestTheWatchGuardIsShownAsItIs(t *testing.T) {
	s := stage(t)
	s.guarded()
	s.wants("nodekeeper_proxy_up 1", `nodekeeper_proxy_requests_total{outcome="passed_other"} 11`, "nodekeeper_proxy_streams 30",
		`nodekeeper_proxy_upstream_requests_total{verb="list",result="ok"} 4`, "nodekeeper_proxy_late_answers_total 2",
		`nodekeeper_proxy_bypass{reason="sick"} 1`, `nodekeeper_proxy_bypass{reason="kill-switch"} 0`, `nodekeeper_proxy_bypass{reason="direct"} 1`)
	if err := os.WriteFile(s.Derived, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.wants(`nodekeeper_proxy_bypass{reason="direct"} 0`)
	s.pass(counted.Stale + time.Second)
	s.wants("nodekeeper_proxy_up 0", "!nodekeeper_proxy_streams", `nodekeeper_proxy_bypass{reason="sick"} 0`, `nodekeeper_proxy_bypass{reason="direct"} 0`)
}

func TestHealthzIsForFreshLooks(t *testing.T) {
	s := stage(t)
	code := func() int {
		w := recorder{header: http.Header{}}
		r, _ := http.NewRequest(http.MethodGet, "/healthz", nil)
		s.Handler().ServeHTTP(&w, r)
		return w.code
	}
	if got := code(); got != http.StatusServiceUnavailable {
		t.Errorf("before a look: %d", got)
	}
	st := s.look()
	s.pass(35 * time.Second)
	if got := code(); got != 0 {
		t.Errorf("after a look: %d", got)
	}
	s.pass(time.Second)
	if got := code(); got != http.StatusServiceUnavailable {
		t.Errorf("after an old look: %d", got)
	}
	acting := *st
	acting.Agent.Acting = &status.Acting{AtMostSeconds: 60}
	s.Published(&acting)
	if got := code(); got != 0 {
		t.Errorf("in an act: %d", got)
	}
}

type recorder struct {
	header http.Header
	code   int
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(code int)        { r.code = code }
func (r *recorder) Write(p []byte) (int, error) { return len(p), nil }

func TestATakenPortIsToldOnceAndTheAgentGoesOn(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	s := stage(t)
	s.Listen = taken.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); s.Serve(ctx) }()
	for deadline := time.Now().Add(10 * time.Second); s.log.count("no metrics") == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing is said")
		}
	}
	cancel()
	<-ended
	if n := s.log.count("\n"); n != 1 {
		t.Errorf("%d lines:\n%s", n, s.log.text.String())
	}
}

func TestAClientThatSaysNothingDoesNotKeepOthersOut(t *testing.T) {
	s := stage(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Listen = l.Addr().String()
	_ = l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); s.Serve(ctx) }()
	defer func() { cancel(); <-ended }()
	var silent []net.Conn
	for len(silent) < connections {
		c, err := net.Dial("tcp", s.Listen)
		if err == nil {
			silent = append(silent, c)
			defer c.Close()
		}
	}
	client := http.Client{Timeout: 3 * readTime}
	// Nor those that have had their answer, and keep the connection.
	for range connections {
		c, err := net.Dial("tcp", s.Listen)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	r, err := client.Get("http://" + s.Listen + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if page, err := io.ReadAll(r.Body); err != nil || r.Header.Get("Content-Type") != ContentType || len(page) == 0 {
		t.Errorf("%v %v", err, r.Header)
	}
}
