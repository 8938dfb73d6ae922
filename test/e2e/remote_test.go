package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/test/node"
)

const pluginProgram = "/usr/local/bin/kubectl-nodekeeper"

// plugin runs `oc nodekeeper` on the node as an admin, who could be anywhere.
func (s *scene) plugin(args ...string) (string, error) {
	s.Helper()
	if _, err := s.box.ReadFile(pluginProgram); err != nil {
		content, err := os.ReadFile(filepath.Join(filepath.Dir(os.Getenv("NODEKEEPER_BINARY")), "kubectl-nodekeeper"))
		s.must(err, "find the plugin")
		s.must(s.box.WriteFile(pluginProgram, content, 0o755), "install the plugin")
	}
	out, stderr, err := s.box.Exec(s.ctx, append([]string{pluginProgram, "--kubeconfig", node.AdminKubeconfig}, args...)...)
	if err != nil {
		return out, fmt.Errorf("%w: %s", err, stderr)
	}
	return out, nil
}

// reachable has the kubelet listen where the API server looks for it.
func reachable(c map[string]any) {
	quickBackOff(c)
	c["address"] = "0.0.0.0"
}

// An admin reads crashes, logs, status and acts through the API server, and the
// log of a pod of which nothing is left on the node.
func TestReadThroughTheAPI(t *testing.T) {
	labelled(t, records)
	s := stage(t, node.Options{Kubeconfig: node.APIOpen, KubeletConfig: reachable})
	s.agent()
	s.run(app("1"))
	dead := s.kill("app", "main")
	e := s.recorded(30*time.Second, "app", dead)
	s.back(2*time.Minute, "app", dead)

	read := func(args ...string) string {
		out, err := s.plugin(args...)
		s.must(err, strings.Join(args, " "))
		return out
	}
	if out := read("crashes", "node1"); !strings.Contains(out, e.ID) {
		t.Errorf("crashes: %s", out)
	}
	if got, want := read("logs", "kube-system/app-node1", "-c", "main", "--previous"), s.logs(e); got != want || want == "" {
		t.Errorf("logs --previous: %q, want %q", got, want)
	}
	if got := read("logs", "kube-system/app-node1", "-c", "main", "--tail", "1"); !strings.Contains(got, "workload started") {
		t.Errorf("logs of the running container: %q", got)
	}
	if out := read("status", "node1"); !strings.Contains(out, "app-node1") {
		t.Errorf("status: %s", out)
	}

	s.must(s.box.RemoveManifest("app.yaml"), "remove the manifest")
	s.eventually(3*time.Minute, "nothing of the pod is left", func() bool {
		out, _, err := s.box.Exec(s.ctx, "sh", "-c", "ls -d /var/log/pods/*app* 2>/dev/null; crictl ps -aq --name main")
		return err == nil && strings.TrimSpace(out) == ""
	})
	if got := read("logs", "kube-system/app-node1", "-c", "main", "--crash", e.ID, "--node", "node1"); got != s.logs(e) {
		t.Errorf("logs --crash: %q", got)
	}
	// The same without any program of ours, for those who have only kubectl.
	raw, stderr, err := s.box.Exec(s.ctx, "kubectl", "--kubeconfig", node.AdminKubeconfig, "get", "--raw",
		"/api/v1/nodes/node1/proxy/logs/nodekeeper/"+e.Path+"/"+e.Segments[0].Name)
	if err != nil || !strings.Contains(raw, "workload started") {
		t.Errorf("get --raw: %q %v %s", raw, err, stderr)
	}
}

// What kubectl shows is the same with and without records: of two equal pods
// one is excluded.
func TestKubectlSeesNoDifference(t *testing.T) {
	labelled(t, records)
	s := stage(t, node.Options{Kubeconfig: node.APIOpen, KubeletConfig: reachable})
	s.agent("logs: exclude: [kube-system/plain-*]")
	for _, name := range []string{"plain", "kept"} {
		s.put(podSpec{name: name, revision: "1", containers: []container{{name: "main", args: []string{
			"--message", "begins", "--lines", "20", "--exit-file", "/var/flags/crash-" + name}}}})
	}
	kubectl := func(args ...string) string {
		out, stderr, err := s.box.Exec(s.ctx, append([]string{"kubectl", "--kubeconfig", node.AdminKubeconfig, "-n", "kube-system"}, args...)...)
		if err != nil {
			return "error: " + stderr
		}
		return out
	}
	for round := range 3 {
		shown := map[string]string{}
		for _, name := range []string{"plain", "kept"} {
			s.eventually(2*time.Minute, fmt.Sprintf("%s shows %d restarts", name, round), func() bool {
				return kubectl("get", "pod", name+"-node1", "-o", "jsonpath={.status.containerStatuses[0].restartCount} {.status.containerStatuses[0].state.running.startedAt}") != "" &&
					strings.HasPrefix(kubectl("get", "pod", name+"-node1", "-o", "jsonpath={.status.containerStatuses[0].restartCount} {.status.containerStatuses[0].state.running.startedAt}"), fmt.Sprint(round)+" 2")
			})
			shown[name] = withoutStamps(kubectl("logs", name+"-node1"))
			if round > 0 {
				shown[name] += "previous:\n" + withoutStamps(kubectl("logs", "--previous", name+"-node1"))
			}
			_, _, err := s.box.Exec(s.ctx, "sh", "-c", "touch /var/flags/crash-"+name+"; while [ -e /var/flags/crash-"+name+" ]; do sleep .02; done")
			s.must(err, "crash")
		}
		if shown["plain"] != shown["kept"] || !strings.Contains(shown["kept"], "line 20") {
			t.Errorf("round %d: without records\n%s\nwith\n%s", round, shown["plain"], shown["kept"])
		}
	}
	s.eventually(time.Minute, "three records of the one pod", func() bool { return len(s.records("kept", "main")) >= 3 })
	if got := s.records("plain", "main"); len(got) != 0 {
		t.Errorf("%d records of an excluded pod", len(got))
	}
	if got := s.foreign(); got != "" {
		t.Errorf("below the pod logs: %s", got)
	}
	for _, e := range s.records("kept", "main") {
		s.wantRecord(e, record.Crash, 1)
	}
}

// withoutStamps drops the workload's first line, which has a PID and a time.
func withoutStamps(text string) string {
	_, rest, _ := strings.Cut(text, "\n")
	return rest
}
