package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// The clock is set an hour back, right again, and an hour ahead. Nothing is
// done about it, and what crashes meanwhile is left to the kubelet.
//
// Set back once more, with a record that is dated ahead, a crash confuses the
// kubelet: it takes the dead record for the newest one and tries in vain to
// start what runs already (kubernetes/kubernetes#83050). That is judged, and
// whatever is done is done to the dead record, and not before its deadline.
func TestClockSteps(t *testing.T) {
	labelled(t, quiet, slow)
	const watch = 90 * time.Second
	s, vm := stageMachine(t)
	s.run(app("1"))
	s.agent()
	s.eventually(2*time.Minute, "all is well", func() bool {
		return s.says(restartpolicy.Healthy, "main") && s.says(restartpolicy.Healthy, "side") && s.says(restartpolicy.Healthy, "kubelet.service")
	})
	step := func(by time.Duration) {
		t.Helper()
		s.must(vm.StepClock(s.ctx, by), "set the clock")
		s.say("clock set by %v", by)
	}
	crash := func(name string) {
		t.Helper()
		dead := s.kill("app", name)
		if c := s.back(2*time.Minute, "app", dead); c.Attempt != dead.Attempt+1 {
			t.Errorf("%s came back as attempt %d after %d", name, c.Attempt, dead.Attempt)
		}
	}
	main, side := s.running("app", "main"), s.running("app", "side")

	step(-time.Hour)
	s.throughout(watch, "an hour back: no act", s.noActs)
	step(time.Hour)
	s.throughout(watch, "right again: no act", s.noActs)
	s.untouched(main)
	s.untouched(side)
	crash("side")
	step(time.Hour)
	s.throughout(watch, "an hour ahead: no act", s.noActs)
	crash("main")
	s.throughout(watch/2, "an hour ahead, after a crash: no act", s.noActs)

	step(-time.Hour)
	s.throughout(watch, "back from an hour ahead: no act", s.noActs)
	side = s.running("app", "side")
	deadline := time.Now().Add(2 * time.Minute)
	crash("main")
	main = s.running("app", "main")
	s.eventually(3*time.Minute, "the confusion is judged", func() bool { return s.says(restartpolicy.OutOfOrder, "main") })
	s.throughout(150*time.Second, "no act but on the dead record", func() error {
		s.untouched(main)
		s.untouched(side)
		for _, a := range s.acts() {
			if a.Result != restartpolicy.ResultRefused && (time.Now().Before(deadline) || a.State != restartpolicy.OutOfOrder ||
				a.Kind != restartpolicy.RemoveContainer || a.Key.Container != "main" || a.Target.ContainerID == main.ID) {
				return fmt.Errorf("act: %+v", a)
			}
		}
		return nil
	})
	s.say("acts: %q", s.kinds())
}
