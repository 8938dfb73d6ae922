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

// Every creation takes longer than the kubelet waits for it: no restart of the
// kubelet, which would only begin the round again, and CRI-O restarted once,
// after two rounds.
func TestCreationsTimeOut(t *testing.T) {
	labelled(t, repair, slow, disruptive)
	for _, delay := range []time.Duration{150 * time.Second, 300 * time.Second} {
		t.Run(delay.String(), func(t *testing.T) {
			t.Parallel()
			s := standing(t, node.Options{})
			s.run(app("1"))
			s.agent()
			side := s.running("app", "side")
			s.must(s.box.SetRuntimeFault("create", fault.Rule{Action: fault.Delay, Delay: delay, Match: "main"}), "set fault")
			dead := s.kill("app", "main")
			s.throughout(5*time.Minute, "no act in five minutes", s.noActs)
			s.eventually(12*time.Minute, "an act", func() bool { return s.kinds() != "" })
			s.must(s.box.SetRuntimeFault("create"), "clear fault")
			s.back(6*time.Minute, "app", dead)
			s.untouched(side)
			s.wantActs(restartpolicy.RestartRuntime)
			if act := s.acts()[0]; time.Duration(act.Began.Wall.Sub(s.began)) < 8*time.Minute {
				t.Errorf("acted after %v, before two rounds were over", act.Began.Wall.Sub(s.began))
			}
		})
	}
}

// A true crash loop through the back-off levels up to 160 s, a pod that starts
// slowly, and one that ignores TERM: nothing is done in fifteen minutes.
func TestCrashLoopFifteenMinutes(t *testing.T) {
	labelled(t, quiet, slow)
	s := standing(t, node.Options{})
	s.put(podSpec{name: "loop", containers: []container{{name: "main", args: []string{"--exit", "1"}}, {name: "side"}}})
	s.put(podSpec{name: "later", containers: []container{{name: "main", args: []string{"--exit", "1", "--after", "70s"}}}})
	s.run(podSpec{name: "stubborn", grace: 30, revision: "1", containers: []container{{name: "main", args: []string{"--ignore-term"}}}})
	s.agent()
	s.put(podSpec{name: "stubborn", grace: 30, revision: "2", containers: []container{{name: "main", args: []string{"--ignore-term"}}}})
	seen := map[string]bool{}
	s.throughout(15*time.Minute, "no act", func() error {
		for _, v := range s.verdicts() {
			if line := fmt.Sprintf("%s/%s %s", v.Pod, v.Container, v.Verdict); !seen[line] && !strings.HasPrefix(line, "/") {
				seen[line] = true
				s.say("verdict: %s", line)
			}
		}
		return s.noActs()
	})
}

// RestartAllContainers ends and restarts the whole pod: a burst that is meant.
func TestRestartAllContainers(t *testing.T) {
	labelled(t, quiet)
	s := standing(t, node.Options{Kubelet: "1.37"})
	p := app("1")
	p.containers[0].args = []string{"--exit", "88", "--after", "30s"}
	p.containers[0].more = []string{"restartPolicy: Always",
		"restartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [88]}}]"}
	s.run(p)
	s.agent()
	s.throughout(3*time.Minute, "no act", s.noActs)
}
