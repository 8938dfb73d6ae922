package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/nodekeeper/nodekeeper/cmd/internal/view"
	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// troubled is a node with one of everything.
func troubled(now node.Instant) status.Status {
	in := func(seconds int64) *int64 { return &seconds }
	const master = "-ip-10-0-131-183.eu-central-1.compute.internal"
	taken := node.Instant{Wall: now.Wall.Add(-2 * time.Second), Boot: now.Boot - 2*time.Second}
	return status.Status{
		APIVersion: status.APIVersion, Kind: status.Kind,
		Agent: status.Agent{Version: "v1.2.3", PID: 4711, Looks: 99, IntervalSeconds: 5, Taken: taken, BootID: "boot-1"},
		Node: status.Node{
			Name:    "ip-10-0-131-183.eu-central-1.compute.internal",
			Runtime: status.Runtime{Name: "cri-o", Version: "1.34.0", Unit: status.Unit{Name: "crio.service", State: "active/running"}},
			Kubelet: status.Kubelet{View: node.ViewPods, SourcesNotReady: true, Healthy: true,
				Error: "Pods API: FailedPrecondition: the kubelet has not heard of all of its pod sources yet, which takes its API server",
				Unit:  status.Unit{Name: "kubelet.service", State: "active/running"}},
			Manifests: status.Manifests{Dir: "/etc/kubernetes/manifests", Pods: 4,
				Problems: []status.Problem{{Path: "/etc/kubernetes/manifests/broken.yaml", Kind: "unparsable", Message: "/etc/kubernetes/manifests/broken.yaml: line 3: mend it"}}},
			Paused: "until 2026-03-01 14:00:00 UTC: etcd restore",
		},
		Records: &status.Records{Records: 12, Live: 31, Bytes: 5 << 20, LimitBytes: 2 << 30, Lost: 1, Error: "no space left on device",
			Sources: map[string]string{"watch": "ok", "hook": "ok", "nri": "connection refused"}},
		Verdicts: []status.Verdict{
			{Container: "crio.service", State: restartpolicy.Healthy, ForSeconds: 36000},
			{Container: "kubelet.service", State: restartpolicy.Healthy, ForSeconds: 400000},
			{Namespace: "openshift-etcd", Pod: "etcd" + master, Container: "etcd", State: restartpolicy.Healthy, ForSeconds: 35000},
			{Namespace: "openshift-etcd", Pod: "etcd" + master, Container: "etcd-metrics", State: restartpolicy.InBackOff, ForSeconds: 75,
				Next: in(125), BlockedBy: []string{"paused"}, Detail: "exited with code 1; kubelet: CrashLoopBackOff",
				Steps: []restartpolicy.StepKind{restartpolicy.RestartKubelet}},
			{Namespace: "openshift-kube-apiserver", Pod: "kube-apiserver" + master, Container: "kube-apiserver-cert-regeneration-controller",
				State: restartpolicy.Forgotten, ForSeconds: 754, Next: in(0), Overdue: true,
				BlockedBy: []string{"paused", "settling:restart-kubelet"}, Detail: "exited with code 255",
				Steps: []restartpolicy.StepKind{restartpolicy.RestartKubelet, restartpolicy.RemoveContainer},
				Last: &status.Act{ID: "12", Step: restartpolicy.RestartKubelet, Result: restartpolicy.ResultDone, AgoSeconds: 95,
					Began: taken.Wall.Add(-95 * time.Second)}},
			{Namespace: "openshift-kube-controller-manager", Pod: "kube-controller-manager" + master, State: restartpolicy.Excluded, ForSeconds: 9000},
		},
	}
}

func TestStatusTable(t *testing.T) {
	s := stage(t)
	s.publish(troubled(s.now))
	for _, form := range []string{"table", "wide"} {
		code, out, stderr := s.call("status", "-o", form)
		if code != view.ExitOverdue || stderr != "" {
			t.Errorf("%s: code %d, stderr %q", form, code, stderr)
		}
		s.golden("status-"+form+".txt", out)
		if form == "table" {
			s.narrow(out)
		}
	}
}

// shown is a status as the command line shows it: with durations as text.
type shown struct {
	status.Status
	Agent struct {
		status.Agent
		Taken shownInstant `json:"taken"`
	} `json:"agent"`
}

type shownInstant struct {
	Wall time.Time    `json:"wall"`
	Boot cli.Duration `json:"boot"`
}

func TestStatusData(t *testing.T) {
	s := stage(t)
	s.publish(troubled(s.now))
	for form, decode := range map[string]func([]byte, any) error{
		"json": json.Unmarshal,
		"yaml": func(data []byte, to any) error { return yaml.UnmarshalStrict(data, to) },
	} {
		var got shown
		code, out, _ := s.call("status", "-o", form)
		if err := decode([]byte(out), &got); err != nil || code != view.ExitOverdue || len(got.Verdicts) != 6 || got.Overdue() != 1 ||
			got.Agent.PID != 4711 || !strings.Contains(out, "9h59m58s") {
			t.Errorf("%s: code %d, %v, %+v", form, code, err, got)
		}
	}
}

func TestStatusExitCodes(t *testing.T) {
	s := stage(t)
	well := troubled(s.now)
	well.Verdicts = well.Verdicts[:4]
	for name, c := range map[string]struct {
		publish func()
		later   time.Duration
		want    int
		says    string
	}{
		"well, or within the deadline": {func() { s.publish(well) }, 0, cli.ExitOK, ""},
		"manifests unreadable": {func() {
			st := troubled(s.now)
			st.Verdicts, st.Node.Manifests.Error = nil, "permission denied"
			s.publish(st)
		}, 0, view.ExitOverdue, ""},
		"past a deadline": {func() { s.publish(troubled(s.now)) }, 0, view.ExitOverdue, ""},
		"stale": {func() { s.publish(troubled(s.now)) }, 24 * time.Second, view.ExitNoAgent,
			"nodekeeper: the agent has not looked for 26s: systemctl status nodekeeper\n"},
		"unreadable": {func() { s.write(s.run+"/status.json", "{") }, 0, cli.ExitFailure,
			"nodekeeper: " + s.run + "/status.json cannot be read: unexpected end of JSON input\n"},
	} {
		now := s.now
		c.publish()
		s.now.Boot += c.later
		code, _, stderr := s.call("status")
		s.now = now
		if code != c.want || stderr != c.says {
			t.Errorf("%s: code %d, want %d; stderr %q", name, code, c.want, stderr)
		}
	}
}

func TestStatusWithoutAnAgent(t *testing.T) {
	s := stage(t)
	code, out, stderr := s.call("status")
	if code != view.ExitNoAgent || out != "" || stderr == "" {
		t.Errorf("code %d, %q, %q", code, out, stderr)
	}
}
