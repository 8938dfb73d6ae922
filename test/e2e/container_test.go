package e2e

import (
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
	"github.com/nodekeeper/nodekeeper/test/node"
	"github.com/nodekeeper/nodekeeper/test/node/fault"
)

// conmon and init are killed: CRI-O says running for ever.
func TestLostExit(t *testing.T) {
	labelled(t, repair, core)
	s := standing(t, node.Options{})
	s.run(app("1"))
	s.agent()
	main, side := s.running("app", "main"), s.running("app", "side")
	s.must(s.box.KillMonitorAndInit(s.ctx, main.ID), "kill conmon and init")
	s.say("killed conmon and init of app/main")
	s.back(2*time.Minute, "app", main)
	s.untouched(side)
	s.wantActs(restartpolicy.StopContainer)
}

// One container cannot be inspected by the kubelet: its dead sibling stays
// down for as long as that record is there.
func TestOneStatusFails(t *testing.T) {
	labelled(t, repair)
	s := standing(t, node.Options{CRIProxy: true})
	s.run(app("1"))
	s.agent()
	main, side := s.running("app", "main"), s.running("app", "side")
	s.must(s.box.SetCRIFault("ContainerStatus", fault.Rule{Action: fault.Fail, Code: "Unknown", Match: main.ID}), "set fault")
	s.kill("app", "main")
	s.back(8*time.Minute, "app", main)
	s.untouched(side)
	s.wantActs(restartpolicy.RemoveContainer)
	s.evidence("app", "main")
}

// A postStart hook that never returns blocks the pod's worker.
func TestPostStartHookHangs(t *testing.T) {
	labelled(t, repair)
	s := standing(t, node.Options{})
	silent := podSpec{name: "silent", containers: []container{{name: "srv", args: []string{"--silent-http", "127.0.0.1:8099"}}}}
	s.run(silent)
	p := app("1")
	p.containers[0].more = []string{`lifecycle: {postStart: {httpGet: {host: 127.0.0.1, port: 8099, path: /}}}`}
	s.put(p)
	s.agent()
	s.eventually(time.Minute, "main runs, its hook hangs", func() bool {
		_, err := s.box.RunningContainer(s.ctx, "app-node1", "main")
		return err == nil
	})
	srv := s.running("silent", "srv")
	dead := s.kill("app", "main")
	s.back(4*time.Minute, "app", dead)
	s.untouched(srv)
	s.wantActs(restartpolicy.RestartKubelet)
}

// A start hangs and the kubelet is restarted meanwhile: no pod of the node is
// looked after. Another restart of the kubelet would change nothing, and is
// refused; CRI-O is what has to be restarted.
func TestStartHangs(t *testing.T) {
	labelled(t, repair, disruptive)
	s := standing(t, node.Options{})
	s.run(app("1"))
	s.agent("deadlines: {hungStart: 90s}")
	side := s.running("app", "side")
	s.must(s.box.SetRuntimeFault("start", fault.Rule{Action: fault.Hang, Count: 1, Match: "main"}), "set fault")
	dead := s.kill("app", "main")
	s.eventually(30*time.Second, "the start hangs", func() bool {
		held, err := s.box.Held()
		return err == nil && len(held) > 0
	})
	_, err := s.box.Systemctl(s.ctx, "restart", "kubelet")
	s.must(err, "restart kubelet")
	s.back(6*time.Minute, "app", dead)
	s.untouched(side)
	s.wantActs(restartpolicy.RestartRuntime)
}

// A start hangs once under a kubelet that lives: the kubelet gives up on it
// after two minutes and starts the next attempt. Nothing is to be done.
func TestStartHangsOnce(t *testing.T) {
	labelled(t, quiet)
	s := standing(t, node.Options{})
	s.run(app("1"))
	s.agent()
	side := s.running("app", "side")
	s.must(s.box.SetRuntimeFault("start", fault.Rule{Action: fault.Hang, Count: 1, Match: " main "}), "set fault")
	dead := s.kill("app", "main")
	s.back(3*time.Minute, "app", dead)
	s.untouched(side)
	s.throughout(30*time.Second, "no act", s.noActs)
}

// A stop hangs: the old revision never ends, the new one waits.
func TestStopHangs(t *testing.T) {
	labelled(t, repair, disruptive)
	s := standing(t, node.Options{})
	s.run(app("1"))
	s.agent()
	old := s.running("app", "main")
	s.must(s.box.SetRuntimeFault("kill", fault.Rule{Action: fault.Hang, Count: 1}), "set fault")
	s.put(app("2"))
	s.eventually(6*time.Minute, "the new revision runs", func() bool {
		c, err := s.box.RunningContainer(s.ctx, "app-node1", "main")
		return err == nil && c.PodUID != old.PodUID
	})
	s.wantActs(restartpolicy.RestartRuntime)
}

// A frozen container and bad manifests are reported, and never acted on.
func TestReportedOnly(t *testing.T) {
	labelled(t, quiet)
	s := standing(t, node.Options{})
	s.run(app("1"))
	s.agent("deadlines: {firstCrash: 20s, neverStarted: 10s, staleRunning: 10s}")
	frozen := s.running("app", "main")
	s.must(s.box.Freeze(s.ctx, frozen.ID), "freeze main")
	t.Cleanup(func() { s.must(s.box.Thaw(s.ctx, frozen.ID), "thaw main") })
	s.must(s.box.PutManifest("broken.yaml", []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: [\n")), "put broken")
	twice := podSpec{name: "twice", containers: []container{{name: "main"}}}
	s.put(twice)
	s.must(s.box.PutManifest("twice.yaml.bak", twice.manifest()), "put duplicate")
	s.eventually(30*time.Second, "frozen is reported", func() bool { return s.says(restartpolicy.Frozen, "main") })
	s.eventually(30*time.Second, "the broken manifest is reported", func() bool { return s.says(restartpolicy.ManifestBad, "broken.yaml") })
	s.eventually(30*time.Second, "the duplicate is reported", func() bool { return s.says(restartpolicy.ManifestBad, "twice.yaml") })
	s.throughout(60*time.Second, "no act", s.noActs)
}
