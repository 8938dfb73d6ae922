package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
	"github.com/nodekeeper/nodekeeper/test/node"
	"github.com/nodekeeper/nodekeeper/test/node/fault"
)

// Pods that are down, or come and go, because somebody or the kubelet wants it
// so: many of them on one node, and no act.
func TestIntendedDown(t *testing.T) {
	labelled(t, quiet, core)
	s := standing(t, node.Options{Kubelet: "1.37"}) // of which the restart rules are
	one := func(name, policy string, args ...string) podSpec {
		return podSpec{name: name, policy: policy, containers: []container{{name: "main", args: args}}}
	}
	s.put(one("never", "Never", "--exit", "3"))
	s.put(one("done", "OnFailure", "--exit", "0"))
	s.put(one("loop", "Always", "--exit", "1"))
	rule := one("rule", "Always", "--exit", "42")
	rule.containers[0].more = []string{"restartPolicy: Never",
		"restartPolicyRules: [{action: Restart, exitCodes: {operator: NotIn, values: [42]}}]"}
	s.put(rule)
	s.run(podSpec{name: "moved", containers: []container{{name: "main"}}})
	s.run(podSpec{name: "removed", containers: []container{{name: "main"}}})
	s.run(podSpec{name: "rolled", revision: "1", containers: []container{{name: "main"}}})
	s.run(podSpec{name: "stopped", containers: []container{{name: "main"}}})
	s.run(podSpec{name: "slow", containers: []container{{name: "main"}}})
	optOut := podSpec{name: "optout", more: []string{`annotations: {nodekeeper.io/restart: "off"}`}, containers: []container{{name: "main"}}}
	s.run(optOut)
	s.agent()

	s.must(s.box.RenameManifest("moved.yaml", ".moved.yaml"), "hide moved")
	s.must(s.box.RemoveManifest("removed.yaml"), "remove removed")
	s.put(podSpec{name: "rolled", revision: "2", containers: []container{{name: "main"}}})
	s.must(s.box.KillMonitorAndInit(s.ctx, s.running("optout", "main").ID), "kill optout")
	s.must(s.box.SetRuntimeFault("create", fault.Rule{Action: fault.Delay, Delay: time.Minute, Count: 1, Match: "slow"}), "slow create")
	s.kill("slow", "main")
	for i := range 4 {
		s.eventually(3*time.Minute, fmt.Sprintf("crictl stop %d", i+1), func() bool {
			c, err := s.box.RunningContainer(s.ctx, "stopped-node1", "main")
			if err != nil {
				return false
			}
			_, _, err = s.box.Exec(s.ctx, "crictl", "stop", c.ID)
			return err == nil
		})
	}
	s.throughout(4*time.Minute, "no act", s.noActs)
	for pod, want := range map[string]restartpolicy.State{
		"never": restartpolicy.IntendedDown, "done": restartpolicy.IntendedDown, "rule": restartpolicy.IntendedDown,
		"optout": restartpolicy.Excluded, "slow": restartpolicy.Healthy, "rolled": restartpolicy.Healthy, "stopped": restartpolicy.Healthy,
	} {
		if !s.says(want, pod+"-node1") {
			t.Errorf("%s: not %s: %+v", pod, want, s.verdicts())
		}
	}
}

// A crash loop under a short maxContainerRestartPeriod.
func TestCrashLoopWithShortPeriod(t *testing.T) {
	labelled(t, quiet)
	s := standing(t, node.Options{Kubelet: "1.37", KubeletConfig: func(c map[string]any) {
		c["crashLoopBackOff"] = map[string]any{"maxContainerRestartPeriod": "20s"}
	}})
	s.put(podSpec{name: "loop", containers: []container{{name: "main", args: []string{"--exit", "1"}}}})
	s.agent("deadlines: {firstCrash: 20s}")
	s.throughout(4*time.Minute, "no act", s.noActs)
}

// Dry run: judged, planned, entered in the journal once, and not done.
func TestDryRun(t *testing.T) {
	labelled(t, quiet)
	s := standing(t, node.Options{})
	s.run(app("1"))
	s.agent("dryRun: true")
	main := s.running("app", "main")
	s.must(s.box.KillMonitorAndInit(s.ctx, main.ID), "kill main and its monitor")
	s.eventually(time.Minute, "it would have acted", func() bool { return s.kinds() == "stop-container" })
	s.throughout(45*time.Second, "nothing was done", func() error {
		s.untouched(main)
		return nil
	})
	if acts := s.acts(); len(acts) != 1 || acts[0].Result != restartpolicy.ResultDryRun {
		t.Errorf("acts: %+v", acts)
	}
}

// Paused: judged, and not acted on. Resumed: acted on.
func TestPausedAndResumed(t *testing.T) {
	labelled(t, quiet)
	s := standing(t, node.Options{})
	s.run(app("1"))
	s.agent()
	_, _, err := s.box.Exec(s.ctx, node.AgentProgram, "pause", "--for", "1h", "--reason", "test")
	s.must(err, "pause")
	main := s.running("app", "main")
	s.must(s.box.KillMonitorAndInit(s.ctx, main.ID), "kill main and its monitor")
	s.eventually(time.Minute, "it is judged", func() bool { return s.says(restartpolicy.StaleRunning, "main") })
	s.throughout(60*time.Second, "no act while paused", s.noActs)
	_, _, err = s.box.Exec(s.ctx, node.AgentProgram, "resume")
	s.must(err, "resume")
	s.back(2*time.Minute, "app", main)
	s.wantActs(restartpolicy.StopContainer)
}

// A backup script runs, as when an admin restores etcd: nothing is done until
// it ends.
func TestAnotherChangesTheNode(t *testing.T) {
	labelled(t, quiet, disruptive)
	s := standing(t, node.Options{})
	s.run(app("1"))
	s.agent()
	_, stderr, err := s.box.Exec(s.ctx, "sh", "-c", "cp /bin/sleep /usr/local/bin/cluster-restore.sh && systemd-run --unit=restore /usr/local/bin/cluster-restore.sh 120")
	if err != nil {
		t.Fatalf("run the script: %v %s", err, stderr)
	}
	dead := s.running("app", "main")
	s.must(s.box.KillMonitorAndInit(s.ctx, dead.ID), "kill monitor and init")
	s.throughout(90*time.Second, "no act", s.noActs)
	s.eventually(10*time.Second, "the status says what holds it back", func() bool {
		out, _, _ := s.box.Exec(s.ctx, node.AgentProgram, "status")
		return strings.Contains(out, "cluster-restore.sh is running")
	})
	s.back(2*time.Minute, "app", dead)
	s.wantActs(restartpolicy.StopContainer)
}
