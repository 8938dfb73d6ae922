package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
	"github.com/nodekeeper/nodekeeper/test/node"
)

// The case that started it: the API server has not answered since the kubelet
// started, the manifest changes, and a container of the old revision dies.
func TestForgottenWhileNewRevisionWaits(t *testing.T) {
	labelled(t, repair, disruptive, core)
	s := standing(t, node.Options{Kubeconfig: node.APIClosed})
	s.run(app("1"))
	s.agent()
	oldSide := s.running("app", "side")
	s.put(app("2"))
	time.Sleep(5 * time.Second)
	dead := s.kill("app", "main")

	_, body, err := s.box.ContainerLogs(s.ctx, "kube-system", "app-node1", "main", false)
	s.must(err, "container logs")
	if !strings.Contains(body, `container "main" in pod "app-node1" is not available`) {
		t.Fatalf("not the fault of the original report: %q", body)
	}
	s.must(s.box.Healthz(s.ctx), "healthz")
	s.say("kubelet: %s; healthz: ok", strings.TrimSpace(body))

	e := s.recorded(30*time.Second, "app", dead)
	_, raw, err := s.box.KubeletGet(s.ctx, "/logs/nodekeeper/"+e.Path+"/"+e.Segments[0].Name)
	s.must(err, "read the record through the kubelet")
	for how, got := range map[string]string{"nodekeeper logs": s.logs(e), "the kubelet's /logs/": raw} {
		if !strings.Contains(got, "workload started") {
			t.Errorf("%s: %q", how, got)
		}
	}
	s.say("meanwhile the log is read from its record: %s", strings.TrimSpace(s.logs(e)))

	renewed := s.back(3*time.Minute, "app", dead)
	if renewed.PodUID == dead.PodUID {
		t.Fatalf("still the old revision")
	}
	s.eventually(time.Minute, "the old sandbox is stopped", func() bool {
		records, err := s.box.ContainerRecords(s.ctx, "app-node1")
		s.must(err, "list containers")
		for _, r := range records {
			if r.ID == oldSide.ID && r.Running() {
				return false
			}
		}
		return true
	})
	s.eventually(time.Minute, "the status is healthy", func() bool {
		return s.says(restartpolicy.Healthy, "main") && !s.says(restartpolicy.TwoGenerations, "")
	})
	s.untouched(renewed)
	s.wantActs(restartpolicy.RestartKubelet, restartpolicy.StopOldSandbox)
	for _, a := range s.acts() {
		if a.Result != restartpolicy.ResultHealed {
			t.Errorf("%s: result %s, want healed: %s", a.Kind, a.Result, a.Detail)
		}
	}
	if ids := s.actsOf(e); len(ids) == 0 || !slices.Equal(s.recorded(time.Second, "app", dead).Acts, ids) {
		t.Errorf("acts %v name the record, which names %v", ids, e.Acts)
	}
	s.evidence("app", "main")
	s.drawn(e.ID, "restart-kubelet", "stop-old-sandbox")
}

// The kubelet deletes the old generation once its API server answers: nothing
// is left to do, and nothing is done.
func TestAPIServerComesBackByItself(t *testing.T) {
	labelled(t, quiet)
	s := standing(t, node.Options{Kubeconfig: node.APIClosed, API: true})
	s.run(app("1"))
	s.agent()
	s.put(app("2"))
	time.Sleep(5 * time.Second)
	dead := s.kill("app", "main")
	s.eventually(time.Minute, "the agent sees it", func() bool { return s.says(restartpolicy.WaitingForOld, "app") })
	s.must(s.box.OpenAPI(s.ctx), "open the API port")
	s.say("API server answers")
	s.back(2*time.Minute, "app", dead)
	s.throughout(90*time.Second, "no act", s.noActs)
	s.evidence("app", "main")
}

// rejected stages a node with room for one pod, on which app runs and second
// was rejected.
func rejected(t *testing.T, more ...string) *scene {
	s := standing(t, node.Options{Kubeconfig: node.APIClosed, KubeletConfig: func(c map[string]any) { c["maxPods"] = 1 }})
	more = append(more, s.withView())
	s.run(app("1"))
	s.put(podSpec{name: "second", containers: []container{{name: "main"}}})
	time.Sleep(3 * time.Second)
	s.agent(more...)
	s.eventually(30*time.Second, "the rejection is seen", func() bool { return s.says(restartpolicy.Rejected, "second") })
	return s
}

// A rejected pod runs once there is room, by a restart of the kubelet.
func TestRejectedAndRoomMade(t *testing.T) {
	labelled(t, repair)
	s := rejected(t)
	s.must(s.box.RemoveManifest("app.yaml"), "remove app")
	s.eventually(3*time.Minute, "second runs", func() bool {
		_, err := s.box.RunningContainer(s.ctx, "second-node1", "main")
		return err == nil
	})
	s.wantActs(restartpolicy.RestartKubelet)
}

// While the cause stays, a rejected pod is retried with growing gaps. Where the
// admin allows it, its own manifest goes out and in, and nobody else is touched.
func TestRejectedAndCauseStays(t *testing.T) {
	labelled(t, repair)
	s := rejected(t, "rejectedGaps: [30s, 60s, 5m]", "deadlines: {rejected: 10s}",
		"steps: {replaceManifest: {enabled: true}, restartKubelet: {enabled: false}}")
	main := s.running("app", "main")
	s.eventually(4*time.Minute, "it was retried three times", func() bool {
		return s.kinds() == "replace-manifest replace-manifest replace-manifest"
	})
	acts := s.acts()
	for i, least := range []time.Duration{30 * time.Second, 60 * time.Second} {
		if gap := acts[i+1].Began.Boot - acts[i].Began.Boot; gap < least {
			t.Errorf("retry %d after %v, want at least %v", i+2, gap, least)
		}
	}
	s.untouched(main)
}

// evidence fails unless the log of a dead container was saved.
func (s *scene) evidence(pod, container string) {
	s.Helper()
	out, _, err := s.box.Exec(s.ctx, "find", "/var/log/nodekeeper", "-name", "*"+container+"*.log", "-size", "+0")
	s.must(err, "find evidence")
	if !strings.Contains(out, pod) {
		s.Fatalf("no saved log of %s/%s: %q", pod, container, out)
	}
	s.say("saved: %s", strings.ReplaceAll(strings.TrimSpace(out), "\n", ", "))
}
