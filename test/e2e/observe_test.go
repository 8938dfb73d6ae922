package e2e

import (
	"encoding/json"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
	"github.com/nodekeeper/nodekeeper/test/node"
)

// shown is what kubectl shows an admin.
func (s *scene) shown(args ...string) string {
	s.Helper()
	out, stderr, err := s.box.Exec(s.ctx, append([]string{"kubectl", "--kubeconfig", node.AdminKubeconfig}, args...)...)
	if err != nil {
		s.Logf("kubectl %v: %v %s", args, err, stderr)
	}
	return out
}

// told is a condition of the Node.
type told struct {
	Type, Status, Reason, Message string
	LastTransitionTime            time.Time
}

func (s *scene) conditions() map[string]told {
	s.Helper()
	var n struct{ Status struct{ Conditions []told } }
	if err := json.Unmarshal([]byte(s.shown("get", "node", "node1", "-o", "json")), &n); err != nil {
		s.Logf("node1: %v", err)
	}
	out := map[string]told{}
	for _, c := range n.Status.Conditions {
		out[c.Type] = c
	}
	return out
}

// saysOfNode tells whether the agent's condition is this.
func (s *scene) saysOfNode(status, message string) func() bool {
	return func() bool {
		c := s.conditions()["StaticPodContainersDown"]
		return c.Status == status && strings.Contains(c.Message, message)
	}
}

// answer is what the agent's port on the node answers.
func (s *scene) answer(path string) (code int, text string) {
	s.Helper()
	r, err := s.box.HTTPClient().Get("http://127.0.0.1:9640" + path)
	s.must(err, "ask for "+path)
	defer r.Body.Close()
	content, err := io.ReadAll(r.Body)
	s.must(err, "ask for "+path)
	return r.StatusCode, string(content)
}

// metric is a value on the agent's page, with the labels as they are there.
func (s *scene) metric(name string) (value float64, page string) {
	s.Helper()
	_, page = s.answer("/metrics")
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindStringSubmatch(page)
	if found == nil {
		return -1, page
	}
	value, err := strconv.ParseFloat(found[1], 64)
	s.must(err, "read the metrics")
	return value, page
}

// The API server, with the node authorizer and NodeRestriction, takes what the
// agent tells as the kubelet: a condition of the Node that leaves the kubelet's
// alone, and Events that kubectl describe finds. While it is away the agent goes
// on, and tells it afterwards what it has missed.
func TestTheAPIServerIsTold(t *testing.T) {
	labelled(t, quiet, observe)
	s := stage(t, node.Options{Kubeconfig: node.APIOpen})
	s.run(app("1"))
	s.run(podSpec{name: "loop", containers: []container{{name: "main"}}})
	s.agent("dryRun: true", "announce: {kubeconfig: "+node.KubeletKubeconfig+"}")
	s.eventually(time.Minute, "the condition is False", s.saysOfNode("False", "run"))

	s.must(s.box.KillMonitorAndInit(s.ctx, s.running("app", "main").ID), "kill conmon and init")
	s.eventually(2*time.Minute, "the condition is True", s.saysOfNode("True", "kube-system/app-node1/main (stale-running)"))
	s.eventually(time.Minute, "kubectl describe shows what is down", func() bool {
		return regexp.MustCompile(`Warning +StaticPodDown .*nodekeeper .*container main has been stale-running`).MatchString(
			s.shown("-n", "kube-system", "describe", "pod", "app-node1"))
	})
	s.kill("loop", "main")
	s.eventually(time.Minute, "kubectl get events shows the crash", func() bool {
		return strings.Contains(s.shown("-n", "kube-system", "get", "events", "--field-selector", "reason=CrashRecorded,involvedObject.name=loop-node1"), "attempt 0 of container main ended")
	})
	all := s.conditions()
	for name, want := range map[string]string{"Ready": "True", "DiskPressure": "False"} {
		if all[name].Status != want {
			t.Errorf("the kubelet's condition %s is %+v", name, all[name])
		}
	}

	for name, want := range map[string]float64{
		`nodekeeper_containers{verdict="stale-running"}`: 1, "nodekeeper_containers_overdue": 1, "nodekeeper_dry_run": 1,
		`nodekeeper_acts_total{step="stop-container",result="dry-run"}`: 1, `nodekeeper_source_up{source="systemd"}`: 1,
		`nodekeeper_crashes_total{class="crash"}`: 1, `nodekeeper_crashes_total{class="lost-exit"}`: 1, `nodekeeper_lifecycle_source_up{source="hook"}`: 1,
	} {
		// The event may be there before the look that counts it.
		var got float64
		var page string
		for range 20 {
			if got, page = s.metric(name); got == want {
				break
			}
			time.Sleep(time.Second)
		}
		if got != want {
			t.Errorf("%s is %v, want %v, in\n%s", name, got, want, page)
		}
	}
	down := `nodekeeper_container_down_seconds{namespace="kube-system",pod="app-node1",container="main"}`
	if got, page := s.metric(down); got < 30 {
		t.Errorf("%s is %v in\n%s", down, got, page)
	}

	s.must(s.box.CloseAPI(s.ctx), "close the API")
	s.must(s.box.RemoveManifest("app.yaml"), "remove the manifest")
	looks, _ := s.metric("nodekeeper_looks_total")
	s.eventually(2*time.Minute, "the agent goes on, and nothing is overdue", func() bool {
		now, _ := s.metric("nodekeeper_looks_total")
		overdue, _ := s.metric("nodekeeper_containers_overdue")
		return now > looks+5 && overdue == 0
	})
	if s.says(restartpolicy.StaleRunning, "app-node1") {
		t.Errorf("%+v", s.verdicts())
	}
	if code, text := s.answer("/healthz"); code != 200 {
		t.Errorf("healthz: %d %s", code, text)
	}
	s.must(s.box.OpenAPI(s.ctx), "open the API")
	s.eventually(6*time.Minute, "the condition is False again", s.saysOfNode("False", "run"))
	if c := s.conditions()["StaticPodContainersDown"]; !c.LastTransitionTime.After(all["StaticPodContainersDown"].LastTransitionTime) {
		t.Errorf("transition: %+v, before %+v", c, all["StaticPodContainersDown"])
	}

	// As docs/metrics.md has it, for an agent that was removed.
	s.must(s.box.StopAgent(s.ctx), "stop the agent")
	s.shown("patch", "node", "node1", "--subresource=status", "-p", `{"status":{"conditions":[{"type":"StaticPodContainersDown","$patch":"delete"}]}}`)
	if c, there := s.conditions()["StaticPodContainersDown"]; there {
		t.Errorf("still there: %+v", c)
	}
}
