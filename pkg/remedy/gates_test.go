package remedy

import (
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

func TestKubeletGate(t *testing.T) {
	call := func(verb string, age time.Duration) func(*scripted) {
		return func(n *scripted) { n.snap.Runtime.Calls = []node.RuntimeCall{{PID: 5, Verb: verb, Age: age}} }
	}
	husk := func(age time.Duration) func(*scripted) {
		return func(n *scripted) { n.husk(); n.main().CreatedAt = n.snap.Taken.Wall.Add(-age) }
	}
	young := func(n *scripted) { n.snap.Kubelet.Unit.ProcessStarted = time.Hour - 59*time.Second }
	cases := []struct {
		name   string
		state  restartpolicy.State
		change func(*scripted)
		why    string
	}{
		{"quiet node", restartpolicy.Forgotten, func(*scripted) {}, ""},
		{"silent runtime", restartpolicy.Forgotten, (*scripted).runtimeDown, "does not answer"},
		{"hung create", restartpolicy.Forgotten, call("create", 11*time.Second), "runtime call create (process 5) has been running for 11s"},
		{"hung start", restartpolicy.KubeletDown, call("start", time.Minute), "runtime call start"},
		{"hung run", restartpolicy.Forgotten, call("run", time.Minute), "runtime call run"},
		{"start in good time", restartpolicy.Forgotten, call("start", 10*time.Second), ""},
		{"hung kill", restartpolicy.WaitingForOld, call("kill", time.Hour), "runtime call kill"},
		{"long exec", restartpolicy.Forgotten, call("exec", time.Hour), ""},
		{"created for long", restartpolicy.Forgotten, husk(11 * time.Second), "container main of kube-system/app-node1 is created and not started"},
		{"created just now", restartpolicy.Forgotten, husk(9 * time.Second), ""},
		{"the husk is what the step is about", restartpolicy.Husk, husk(time.Hour), ""},
		{"kubelet in its start-up", restartpolicy.Forgotten, young, "only been up for 59s"},
		{"kubelet down in its start-up", restartpolicy.KubeletDown, young, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			n := newScripted(t)
			c.change(n)
			got := restartpolicy.GateFor(n.policy, &n.snap, c.state, restartpolicy.RestartKubelet).Detail
			if (got == "") != (c.why == "") || !strings.Contains(got, c.why) {
				t.Errorf("got %q, want %q", got, c.why)
			}
		})
	}
}

func TestRuntimeGate(t *testing.T) {
	cases := []struct {
		inUnit bool
		mode   string
		shut   bool
	}{
		{true, "control-group", true},
		{true, "mixed", true},
		{true, "", true},
		{true, "process", false},
		{true, "none", false},
		{false, "control-group", false},
	}
	for _, c := range cases {
		s := &node.Snapshot{Runtime: node.Runtime{MonitorsInUnit: c.inUnit, Unit: node.Unit{KillMode: c.mode}}}
		if why := restartpolicy.GateFor(config.Restart{}, s, restartpolicy.RuntimeDown, restartpolicy.RestartRuntime).Detail; (why != "") != c.shut {
			t.Errorf("monitors in unit %v, KillMode %q: %q", c.inUnit, c.mode, why)
		}
	}
}
