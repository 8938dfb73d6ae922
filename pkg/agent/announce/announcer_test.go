package announce

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/pkitest"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

const nodeName = "n1"

// scene is an announcer before an API server of a few fields, on a clock that a
// test moves.
type scene struct {
	*testing.T
	*Announcer
	node   *pkitest.Node
	server *httptest.Server
	now    time.Time
	log    bytes.Buffer

	mu         sync.Mutex // guards what the API server has
	conditions []nodeCondition
	events     map[string]apiEvent
	asked      []string
	answer     int // instead of an answer
	refuses    int // a patch of the condition, with this
	subjects   map[string]bool
}

func stage(t *testing.T) *scene {
	t.Helper()
	s := &scene{T: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), events: map[string]apiEvent{}, subjects: map[string]bool{}}
	s.conditions = []nodeCondition{{Type: "Ready", Status: "True", Reason: "KubeletReady"}}
	ca := pkitest.New(t)
	s.server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	s.server.TLS = &tls.Config{Certificates: []tls.Certificate{ca.Server("api.example").Certificate}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.Pool()}
	s.server.StartTLS()
	t.Cleanup(s.server.Close)
	s.node = ca.NewNode(s.server.URL, "api.example")
	s.node.Rotate(ca.Kubelet(nodeName))
	s.Announcer = New(Options{Kubeconfig: s.node.Kubeconfig, Version: "v1", Now: func() time.Time { return s.now }, After: time.After,
		Log: slog.New(slog.NewTextHandler(&s.log, nil))})
	t.Cleanup(s.client.close)
	return s
}

// serve is as much of an API server as is asked for.
func (s *scene) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subjects[r.TLS.PeerCertificates[0].SerialNumber.String()] = true
	s.asked = append(s.asked, r.Method+" "+r.URL.Path)
	if s.answer != 0 {
		w.WriteHeader(s.answer)
		return
	}
	body, _ := io.ReadAll(r.Body)
	at := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v1/"), "/")
	switch what := r.Method + " " + r.Header.Get("Content-Type"); {
	case what == "GET " && r.URL.Path == "/api/v1/nodes/"+nodeName:
		_ = json.NewEncoder(w).Encode(map[string]any{"status": map[string]any{"conditions": s.conditions}})
	case what == "PATCH application/strategic-merge-patch+json" && r.URL.Path == "/api/v1/nodes/"+nodeName+"/status":
		var patch struct {
			Status struct{ Conditions []nodeCondition }
		}
		if err := json.Unmarshal(body, &patch); err != nil {
			s.Error(err)
		}
		if s.refuses != 0 {
			w.WriteHeader(s.refuses)
			return
		}
		for _, c := range patch.Status.Conditions {
			s.merge(c)
		}
	case what == "POST application/json" && at[2] == "events":
		var e apiEvent
		if err := json.Unmarshal(body, &e); err != nil {
			s.Error(err)
		}
		if e.Metadata.Namespace == "nowhere" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		s.events[e.Metadata.Name] = e
		w.WriteHeader(http.StatusCreated)
	case what == "PATCH application/merge-patch+json" && at[2] == "events":
		e, ok := s.events[at[3]]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		if err := json.Unmarshal(body, &e); err != nil {
			s.Error(err)
		}
		s.events[at[3]] = e
	default:
		s.Errorf("asked for %s %s", what, r.URL.Path)
	}
}

func (s *scene) merge(c nodeCondition) {
	for i := range s.conditions {
		if s.conditions[i].Type == c.Type {
			s.conditions[i] = c
			return
		}
	}
	s.conditions = append(s.conditions, c)
}

// look publishes a look that saw this, and has the announcer tell.
func (s *scene) look(change func(*status.Status)) {
	st := &status.Status{Agent: status.Agent{Taken: node.Instant{Wall: s.now, Boot: s.now.Sub(time.Time{}.AddDate(2020, 0, 0))}}, Node: status.Node{Name: nodeName}}
	if change != nil {
		change(st)
	}
	s.Published(st)
	s.round(s.Context())
}

func (s *scene) pass(d time.Duration) { s.now = s.now.Add(d) }

// condition is ours on the API server.
func (s *scene) condition() nodeCondition {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conditions[0] != (nodeCondition{Type: "Ready", Status: "True", Reason: "KubeletReady"}) {
		s.Errorf("the kubelet's condition is now %+v", s.conditions[0])
	}
	for _, c := range s.conditions {
		if c.Type == ConditionType {
			return c
		}
	}
	return nodeCondition{}
}

func (s *scene) patches() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, asked := range s.asked {
		if asked == "PATCH /api/v1/nodes/"+nodeName+"/status" {
			n++
		}
	}
	return n
}

// told are the events on the API server, by reason.
func (s *scene) told() map[string][]apiEvent {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string][]apiEvent{}
	for _, e := range s.events {
		out[e.Reason] = append(out[e.Reason], e)
	}
	return out
}

func (s *scene) wants(condition, reason, message string) {
	s.Helper()
	if c := s.condition(); c.Status != condition || c.Reason != reason || !strings.Contains(c.Message, message) {
		s.Errorf("%+v, want %s %s %q", c, condition, reason, message)
	}
}

func down(seconds int64) func(*status.Status) {
	return func(st *status.Status) {
		st.Verdicts = []status.Verdict{{Namespace: "kube-system", Pod: "etcd-n1", PodUID: "u1", Container: "etcd", State: restartpolicy.StaleRunning,
			ForSeconds: seconds, Overdue: true, Detail: "the process is gone"}}
	}
}

func blindLook(st *status.Status) { st.Node.Runtime.Error = "does not answer" }

func TestTheConditionFollowsTheNode(t *testing.T) {
	s := stage(t)
	s.look(nil)
	s.wants("False", ReasonAllRunning, "run")
	first := s.condition().LastTransitionTime
	s.pass(10 * time.Second)
	s.look(down(31))
	s.wants("True", ReasonContainersDown, "kube-system/etcd-n1/etcd (stale-running)")
	if c := s.condition(); !c.LastTransitionTime.Equal(s.now) || first.Equal(c.LastTransitionTime) {
		t.Errorf("transition at %v, and before at %v", c.LastTransitionTime, first)
	}
	s.pass(10 * time.Second)
	s.look(nil)
	s.wants("False", ReasonAllRunning, "")
	if n := s.patches(); n != 3 {
		t.Errorf("%d patches", n)
	}
}

func TestOnePatchAChangeAndAHeartbeat(t *testing.T) {
	s := stage(t)
	for i := range 20 {
		s.look(down(int64(30 + 5*i)))
		s.pass(5 * time.Second)
	}
	began := s.condition()
	if n := s.patches(); n != 1 {
		t.Errorf("%d patches for one change", n)
	}
	s.pass(heartbeat)
	s.look(down(500))
	c := s.condition()
	if n := s.patches(); n != 2 || !c.LastHeartbeatTime.Equal(s.now) || !c.LastTransitionTime.Equal(began.LastTransitionTime) {
		t.Errorf("%d patches, %+v", n, c)
	}
}

func TestAnAgentThatIsStartedAnewKeepsTheTimeOfTheChange(t *testing.T) {
	s := stage(t)
	long := s.now.Add(-time.Hour)
	s.conditions = append(s.conditions, nodeCondition{ConditionType, "True", ReasonContainersDown, "other words", long, long})
	s.look(down(31))
	if c := s.condition(); !c.LastTransitionTime.Equal(long) || !c.LastHeartbeatTime.Equal(s.now) {
		t.Errorf("%+v", c)
	}
}

func TestBlindnessIsToldWhenItLasts(t *testing.T) {
	s := stage(t)
	s.look(nil)
	s.look(blindLook)
	s.wants("False", ReasonAllRunning, "")
	s.pass(blindTime)
	s.look(blindLook)
	s.wants("Unknown", ReasonCannotLook, "the container runtime")
	s.look(nil)
	s.wants("False", ReasonAllRunning, "")
}

func TestEqualEventsCount(t *testing.T) {
	s := stage(t)
	var crash record.Entry
	crash.ID = "2026"
	crash.Namespace, crash.Pod, crash.PodUID, crash.Container, crash.Class, crash.ClassReason = "kube-system", "etcd-n1", "u1", "etcd", record.Crash, "exit code 1"
	for i := range 30 { // one every 10 s
		crash.Attempt.Attempt = uint32(i)
		s.Crashed(crash)
		s.look(nil)
		s.pass(10 * time.Second)
	}
	s.pass(seriesEvery)
	s.look(nil)
	events := s.told()[EventCrash]
	if len(events) != 1 {
		t.Fatalf("%+v", events)
	}
	e := events[0]
	if e.Count != 30 || !strings.Contains(e.Message, "attempt 29") || e.Involved.UID != "u1" || e.Involved.FieldPath != "spec.containers{etcd}" ||
		e.Metadata.Namespace != "kube-system" || e.Type != warning || !e.Last.After(e.First) {
		t.Errorf("%+v", e)
	}
	writes := 0
	for _, asked := range s.asked {
		if strings.Contains(asked, "/events") {
			writes++
		}
	}
	if writes > 7 {
		t.Errorf("%d requests in five minutes", writes)
	}
	// The API server forgets events after an hour, and the agent does too.
	s.pass(time.Hour)
	s.Crashed(crash)
	s.look(nil)
	if n := len(s.told()[EventCrash]); n != 2 {
		t.Errorf("%d events", n)
	}
}

func TestAnEventThatTheAPIServerHasForgottenBeginsAnew(t *testing.T) {
	s := stage(t)
	act := restartpolicy.Act{Step: restartpolicy.Step{Kind: restartpolicy.StopContainer, Key: restartpolicy.Key{PodName: node.PodName{Namespace: "a", Name: "b"}, Container: "c"}},
		Result: restartpolicy.ResultFailed, Detail: "no"}
	s.Acted(act)
	s.look(nil)
	s.mu.Lock()
	clear(s.events)
	s.mu.Unlock()
	s.pass(seriesEvery)
	s.Acted(act)
	s.look(nil)
	if events := s.told()[EventRestartFailed]; len(events) != 1 || events[0].Count != 1 {
		t.Errorf("%+v", events)
	}
}

func TestWhatHappensIsToldOnce(t *testing.T) {
	s := stage(t)
	for range 5 {
		s.look(down(31))
		s.pass(5 * time.Second)
	}
	act := restartpolicy.Act{Step: restartpolicy.Step{Kind: restartpolicy.RestartKubelet, State: restartpolicy.KubeletDown, Key: restartpolicy.Key{Container: "kubelet.service"}},
		Result: restartpolicy.ResultDone}
	s.Acted(act)
	act.Result = restartpolicy.ResultHealed
	s.Acted(act)
	s.look(nil)
	told := s.told()
	if e := told[EventDown]; len(e) != 1 || e[0].Count != 1 || !strings.Contains(e[0].Message, "container etcd has been stale-running for 31s: the process is gone") {
		t.Errorf("%+v", e)
	}
	if e := told[EventRestarted]; len(e) != 1 || e[0].Involved != (reference{Kind: "Node", Name: nodeName, UID: nodeName}) || e[0].Metadata.Namespace != "default" || e[0].Type != normal {
		t.Errorf("%+v", e)
	}
}

func TestAnEventThatIsRefusedStandsInNobodysWay(t *testing.T) {
	s := stage(t)
	act := restartpolicy.Act{Result: restartpolicy.ResultHealed}
	for _, namespace := range []string{"nowhere", "kube-system"} {
		act.Key = restartpolicy.Key{PodName: node.PodName{Namespace: namespace, Name: "b"}, Container: "c"}
		s.Acted(act)
	}
	s.look(nil)
	s.pass(seriesEvery)
	s.look(nil)
	if e := s.told()[EventRestarted]; len(e) != 1 || e[0].Metadata.Namespace != "kube-system" {
		t.Errorf("%+v", e)
	}
}

// A webhook, or somebody's RBAC, is against the condition.
func TestAConditionThatIsRefusedStandsInNoEventsWay(t *testing.T) {
	s := stage(t)
	s.refuses = http.StatusForbidden
	s.Crashed(record.Entry{Meta: record.Meta{Attempt: record.Attempt{Namespace: "kube-system", Pod: "scheduler-n1", Container: "c"}, Class: record.Crash}})
	for range 3 {
		s.look(down(31))
		s.pass(seriesEvery)
	}
	if n := len(s.told()[EventCrash]); n != 1 {
		t.Errorf("%d events of the crash", n)
	}
	if n := s.patches(); n != 1 {
		t.Errorf("the condition was tried %d times in %v", n, 3*seriesEvery)
	}
	if n := strings.Count(s.log.String(), "refuses the node's condition"); n != 1 {
		t.Errorf("said %d times:\n%s", n, s.log.String())
	}
	s.refuses = 0
	s.pass(heartbeat)
	s.look(down(31))
	s.wants("True", "ContainersDown", "")
}

func TestAFIFOInThePlaceOfTheCertificateHoldsNobodyUp(t *testing.T) {
	s := stage(t)
	s.look(nil)
	s.client.transport.CloseIdleConnections()
	path := s.client.source.CertificateFile
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	s.look(down(31))
	if !strings.Contains(s.said, "not a regular file") {
		t.Errorf("said %q", s.said)
	}
}

func TestAnAPIServerThatFailsIsToldAllWhenItIsBack(t *testing.T) {
	s := stage(t)
	s.look(nil)
	s.answer = http.StatusServiceUnavailable
	s.pass(time.Minute)
	s.look(down(31))
	var waits []time.Duration
	for range 9 {
		waits = append(waits, s.round(t.Context()))
	}
	if waits[0] <= s.retry/100 || waits[8] != retryMost {
		t.Errorf("waits %v", waits)
	}
	s.mu.Lock()
	s.answer = 0
	s.mu.Unlock()
	s.round(t.Context())
	s.wants("True", ReasonContainersDown, "etcd")
	if n := len(s.told()[EventDown]); n != 1 {
		t.Errorf("%d events", n)
	}
	if n := strings.Count(s.log.String(), "\n"); n != 2 {
		t.Errorf("log:\n%s", s.log.String())
	}
}

func TestAnAnswerOfMegabytesIsALineOfTheLog(t *testing.T) {
	s := stage(t)
	s.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		_ = json.NewEncoder(w).Encode(map[string]string{"message": "no\n" + strings.Repeat("x", 3<<20)})
	})
	s.look(down(5))
	s.round(t.Context())
	if text := s.log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "status 500") || len(text) > 2<<10 {
		t.Errorf("%d bytes: %.300s", len(text), text)
	}
}

func TestANodeWithoutAnAPIServerIsQuiet(t *testing.T) {
	s := stage(t)
	s.client.path = s.node.Kubeconfig + ".none"
	s.look(down(31))
	if s.log.Len() > 0 || s.retry != 0 {
		t.Errorf("retry %v, log %s", s.retry, s.log.String())
	}
}

func TestARenewedCertificateIsUsed(t *testing.T) {
	s := stage(t)
	s.look(nil)
	s.node.Rotate(pkitest.New(t).Kubelet("stranger")) // of another authority: refused
	s.client.transport.CloseIdleConnections()
	s.look(down(31))
	if s.said == "" {
		t.Error("an old connection, or the old certificate, was used")
	}
}

func TestTheBookIsBounded(t *testing.T) {
	s := stage(t)
	for i := range 3 * most {
		s.Acted(restartpolicy.Act{Result: restartpolicy.ResultHealed, Step: restartpolicy.Step{Key: restartpolicy.Key{PodName: node.PodName{Namespace: "a", Name: fmt.Sprint(i)}}}})
	}
	if n := len(s.book.order); n != most {
		t.Errorf("%d series", n)
	}
	s.look(nil)
	if n := len(s.told()[EventRestarted]); n != eventsARound {
		t.Errorf("%d events in one round", n)
	}
	s.pass(remembered)
	s.look(nil)
	if n := len(s.book.order) + len(s.book.series); n != 0 {
		t.Errorf("%d series after an hour", n)
	}
}

func TestLongMessagesAreCutBetweenCharacters(t *testing.T) {
	got := short(strings.Repeat("é", maxMessage))
	if len(got) > maxMessage || !strings.HasSuffix(got, "é…") {
		t.Errorf("%d bytes, %q", len(got), got[len(got)-8:])
	}
}

// Run tells by itself, and the loop is never kept waiting.
func TestRunTellsAndEnds(t *testing.T) {
	s := stage(t)
	s.Now = time.Now
	s.client.now = time.Now
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); s.Announcer.Run(ctx) }()
	st := &status.Status{Node: status.Node{Name: nodeName}}
	s.Published(st)
	for deadline := time.Now().Add(30 * time.Second); s.condition().Status != "False"; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("nothing is told:\n%s", s.log.String())
		}
		s.Published(st)
	}
	cancel()
	<-ended
}
