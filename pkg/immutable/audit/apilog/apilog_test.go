package apilog

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// request is one that an API server has had; its events are of all stages.
type request struct {
	user, agent, verb, resource, namespace, name, query string
	// at is when it came, in milliseconds.
	at   int
	code int
	// held is how long a watch lasted, in seconds; 0 while it does.
	held int
}

func (r request) events() []string {
	event := func(stage string, code int, at time.Time) string {
		uri := "/api/v1/namespaces/" + r.namespace + "/" + r.resource + "?" + r.query
		object := map[string]string{"resource": r.resource, "namespace": r.namespace, "name": r.name, "apiVersion": "v1"}
		e := map[string]any{
			"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "auditID": "x", "stage": stage, "requestURI": uri, "verb": r.verb,
			"user": map[string]any{"username": r.user, "groups": []string{"system:nodes"}}, "userAgent": r.agent, "objectRef": object,
			"requestReceivedTimestamp": began.Add(time.Duration(r.at) * time.Millisecond), "stageTimestamp": at,
		}
		if code > 0 {
			e["responseStatus"] = map[string]any{"metadata": map[string]any{}, "code": code}
		}
		line, err := json.Marshal(e)
		if err != nil {
			panic(err)
		}
		return string(line)
	}
	at := began.Add(time.Duration(r.at) * time.Millisecond)
	all := []string{event("RequestReceived", 0, at)}
	code := r.code
	if code == 0 {
		code = 200
	}
	if r.verb == "watch" && code == 200 {
		all = append(all, event("ResponseStarted", code, at))
		if r.held == 0 {
			return all
		}
	}
	return append(all, event("ResponseComplete", code, at.Add(time.Duration(r.held)*time.Second)))
}

const (
	kubelet = "kubelet/v1.37.2 (linux/amd64) kubernetes/abc"
	guard   = "nodekeeper-proxy/v1.0.0"
	initial = "allowWatchBookmarks=true&fieldSelector=metadata.name%3Da&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&watch=true"
)

func scene() []request {
	n1, n2 := "system:node:n1", "system:node:n2"
	return []request{
		{n1, kubelet, "watch", "secrets", "ns", "a", initial, 0, 0, 1},
		{n1, kubelet, "watch", "secrets", "ns", "b", initial, 10, 0, 1},
		{n1, kubelet, "watch", "configmaps", "ns", "a", initial, 900, 0, 0},
		{n1, kubelet, "watch", "configmaps", "ns", "a", "resourceVersion=5&watch=true", 2_000_000, 0, 0},
		{n1, kubelet, "get", "secrets", "ns", "a", "", 5000, 0, 0},
		{n1, kubelet, "get", "secrets", "ns", "a", "resourceVersion=0", 6000, 0, 0},
		{n1, kubelet, "watch", "secrets", "other", "x", initial, 7000, 403, 0},
		{n2, guard, "list", "secrets", "ns", "a", "fieldSelector=metadata.name%3Da", 0, 0, 0},
		{n2, guard, "list", "secrets", "ns", "a", "fieldSelector=metadata.name%3Da&limit=500&resourceVersion=0", 100, 0, 0},
		{n2, guard, "watch", "configmaps", "ns", "a", "resourceVersion=7&watch=true", 12_000, 0, 0},
		{n2, "curl/8", "get", "secrets", "ns", "a", "", 100, 429, 0},
		// Not of a node, not of these resources, not a read.
		{"system:serviceaccount:a:b", "operator", "list", "secrets", "", "", "", 0, 0, 0},
		{n1, kubelet, "get", "pods", "ns", "secrets", "", 0, 0, 0},
		{n1, kubelet, "create", "secrets", "ns", "a", "", 0, 403, 0},
	}
}

// written is a log with the events of some stages.
func written(requests []request, stages ...string) string {
	var b strings.Builder
	for _, r := range requests {
		for _, e := range r.events() {
			for _, stage := range stages {
				if strings.Contains(e, `"stage":"`+stage+`"`) {
					b.WriteString(e + "\n")
				}
			}
		}
	}
	return b.String()
}

func report(t testing.TB, text string, nodes ...string) Report {
	t.Helper()
	l := New(nodes...)
	if err := l.Read(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	return l.Report()
}

func TestARequestIsCountedOnceByWhateverStagesThereAre(t *testing.T) {
	want := Counts{Watch: 6, WatchList: 4, List: 2, Get: 3}
	for _, stages := range [][]string{
		{"RequestReceived"},
		{"RequestReceived", "ResponseComplete"},
		{"RequestReceived", "ResponseStarted", "ResponseComplete"},
		{"ResponseStarted", "ResponseComplete"},
	} {
		r := report(t, written(scene(), stages...))
		if d := cmp.Diff(want, r.Counts); d != "" {
			t.Errorf("%v: %s", stages, d)
		}
		if others := (Counts{List: 1}); r.Others != others {
			t.Errorf("%v: of other users %+v", stages, r.Others)
		}
		// The start of n1 and n2, and none of the end of a watch.
		if r.Peak.Requests != 6 || !r.Peak.At.Equal(began) || r.Peak.Watches != 3 {
			t.Errorf("%v: peak %+v", stages, r.Peak)
		}
		if r.Foreign != 0 {
			t.Errorf("%v: %d foreign lines", stages, r.Foreign)
		}
	}
}

func TestNodesAndTheirClientsAreToldApart(t *testing.T) {
	r := report(t, written(scene(), "RequestReceived", "ResponseStarted", "ResponseComplete"))
	if len(r.Nodes) != 2 || r.Nodes[0].Node != "n1" || r.Nodes[1].Node != "n2" {
		t.Fatalf("%+v", r.Nodes)
	}
	n1, n2 := r.Nodes[0], r.Nodes[1]
	if want := (Asked{Counts{Watch: 5, WatchList: 4, Get: 2}, 5}); n1.Clients["kubelet"] != want || len(n1.Clients) != 1 || n1.Objects != 4 {
		t.Errorf("%+v", n1)
	}
	if want := (Asked{Counts{Watch: 1, List: 2}, 1}); n2.Clients["nodekeeper-proxy"] != want {
		t.Errorf("%+v", n2)
	}
	if want := (Asked{Counts{Get: 1}, 1}); n2.Clients["other"] != want || n2.Objects != 2 {
		t.Errorf("%+v", n2)
	}
	if n1.Peak.Requests != 3 || !n1.Peak.At.Equal(began) {
		t.Errorf("%+v", n1.Peak)
	}
	if d := cmp.Diff(map[int]int64{403: 1, 429: 1}, r.Refused); d != "" {
		t.Error(d)
	}
	if ns := r.Namespaces[0]; ns.Namespace != "ns" || ns.Total() != 10 || ns.Objects != 3 || ns.Nodes != 2 {
		t.Errorf("%+v", ns)
	}
	if o := r.TopObjects[0]; o.Name != "a" || o.Resource != "secrets" || o.Total() != 6 || o.Nodes != 2 {
		t.Errorf("%+v", o)
	}
	if only := report(t, written(scene(), "RequestReceived"), "n2"); len(only.Nodes) != 1 || only.Total() != 4 {
		t.Errorf("%+v", only.Nodes)
	}
}

func TestTornAndForeignLinesAreCountedAndPassedOver(t *testing.T) {
	whole := written(scene(), "RequestReceived")
	lines := strings.SplitAfter(whole, "\n")
	text := "starting\n\n" + `{"level":"info","msg":"secrets"}` + "\n" + `{"a":1}` + "\n" + lines[0][:len(lines[0])/2] + "\n" +
		"master-0.example.com " + whole + lines[1][:100]
	r := report(t, text)
	if want := int64(6); r.Foreign != want || r.Torn != 1 {
		t.Errorf("%d foreign lines, want %d; %d torn", r.Foreign, want, r.Torn)
	}
	if r.Total() != 11 {
		t.Errorf("%+v", r.Counts)
	}
}

func TestWhatTheBoundsLeaveOutIsSaid(t *testing.T) {
	l := New()
	e := event{Verb: "get", Stage: "RequestReceived", Received: began}
	e.Object.Resource = "secrets"
	for i := range maxNodes + 3 {
		e.User.Name = fmt.Sprint(nodeUser, i)
		l.take(&e)
	}
	r := l.Report()
	if r.Left.Nodes != 3 || len(r.Nodes) != maxNodes || r.Total() != maxNodes+3 || r.Peak.Requests != maxNodes+3 {
		t.Errorf("%+v, %d nodes, %d requests", r.Left, len(r.Nodes), r.Total())
	}
}

func TestAnEmptyLogIsNoRequest(t *testing.T) {
	r := report(t, "")
	if r.Total() != 0 || r.First != nil || r.WatchesBy != "" || len(r.Nodes) != 0 {
		t.Errorf("%+v", r)
	}
}

func FuzzLog(f *testing.F) {
	f.Add([]byte(written(scene(), "RequestReceived", "ResponseStarted", "ResponseComplete")))
	f.Add([]byte("x {}\n{\"secrets\"}\n"))
	f.Add([]byte{0x1f, 0x8b, 8, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		l := New()
		if err := l.Read(strings.NewReader(string(data))); err != nil {
			t.Fatal(err)
		}
		r := l.Report()
		var nodes, seconds int64
		for _, n := range r.Nodes {
			nodes += n.Total()
			if n.Peak.Requests > r.Peak.Requests {
				t.Errorf("a node's peak %d is above all nodes' %d", n.Peak.Requests, r.Peak.Requests)
			}
		}
		for _, s := range r.Series {
			for _, c := range s.Clients {
				seconds += c.Total()
			}
		}
		if nodes != r.Total() || seconds != r.Total() {
			t.Errorf("%d requests, %d of nodes, %d in seconds", r.Total(), nodes, seconds)
		}
		if r.WatchList > r.Watch || r.EtcdReads > r.Total() || r.Foreign > r.Lines {
			t.Errorf("%+v", r)
		}
		if _, err := json.Marshal(r); err != nil && r.First != nil && r.First.Year() < 9999 && r.First.Year() > 0 && r.Last.Year() < 9999 {
			t.Error(err)
		}
	})
}

// BenchmarkLog reads a log of which every tenth event is about a Secret, and one
// that is about nothing else.
func BenchmarkLog(b *testing.B) {
	reads := written(scene()[:11], "RequestReceived", "ResponseStarted", "ResponseComplete")
	var others []request
	for i := range 100 {
		others = append(others, request{"system:node:n1", kubelet, "patch", "pods", "ns", fmt.Sprint("p", i), "", 0, 0, 0})
	}
	rest := written(others, "RequestReceived", "ResponseComplete")
	for name, text := range map[string]string{"all": strings.Repeat(reads, 500), "tenth": strings.Repeat(reads+rest, 100)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				l := New()
				if err := l.Read(strings.NewReader(text)); err != nil || l.Report().Total() == 0 {
					b.Fatal(err)
				}
			}
		})
	}
}
