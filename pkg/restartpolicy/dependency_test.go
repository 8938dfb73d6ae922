package restartpolicy

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// What systemd 252 says of a kubelet that is down beside a CRI-O that runs, by
// what led there. The kubelet requires CRI-O and comes after it.
func TestKubeletThatIsDownBesideItsRuntime(t *testing.T) {
	const down = 5 * time.Minute // when the kubelet became inactive
	job := func(kind, result string, after time.Duration) node.Job {
		return node.Job{Type: kind, Result: result, Finished: down + after}
	}
	tests := []struct {
		name string
		// since is when the unit became inactive; 0 for never in this boot.
		since   time.Duration
		job     node.Job
		runtime func(*node.Unit)
		state   State
		says    string
	}{
		{name: "restart crio failed, and Restart= brought it back", since: down, job: job("start", "dependency", 80*time.Millisecond),
			runtime: func(u *node.Unit) { u.Restarts = 2 }, state: KubeletDown, says: "requires did not start"},
		{name: "CRI-O crashed, and its first restart failed", since: down, job: job("start", "dependency", 200*time.Millisecond),
			runtime: func(u *node.Unit) { u.Restarts = 2 }, state: KubeletDown},
		{name: "restart crio failed, and it was mended and started by hand", since: down, job: job("start", "dependency", 80*time.Millisecond),
			state: KubeletDown},
		{name: "CRI-O did not start with the boot", job: job("start", "dependency", 0),
			runtime: func(u *node.Unit) { u.Restarts = 1 }, state: KubeletDown},
		{name: "stopped, and start kubelet failed with CRI-O", since: down, job: job("start", "dependency", time.Minute), state: KubeletDown},

		{name: "stop kubelet", since: down, job: job("stop", "done", 0), state: IntendedDown, says: "systemctl start kubelet.service"},
		{name: "stop kubelet crio, start crio", since: down, job: job("stop", "done", 0), state: IntendedDown},
		{name: "stop crio, start crio", since: down, job: job("stop", "done", 0), state: IntendedDown},
		{name: "stop kubelet crio, start crio failed at first", since: down, job: job("stop", "done", 0),
			runtime: func(u *node.Unit) { u.Restarts = 1 }, state: IntendedDown},
		{name: "stop kubelet, and CRI-O crashed and came back later", since: down, job: job("stop", "done", 0),
			runtime: func(u *node.Unit) { u.Restarts = 1 }, state: IntendedDown},
		{name: "brought back once, and stopped by a job that the journal lost", since: down, job: job("start", "dependency", -time.Minute),
			state: IntendedDown},
		{name: "stop kubelet while its start waited for CRI-O", since: down, job: job("start", "canceled", 0), state: IntendedDown},
		{name: "half of a restart", since: down, job: job("restart", "done", 0), state: IntendedDown},
		{name: "the journal cannot be read", since: down, job: node.Job{Err: errors.New("no such program")},
			state: IntendedDown, says: "no such program"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(1)
			var detail string
			after, state, steps := play(w, func(s *node.Snapshot, _ *world) {
				lose(s, tt.since, tt.job)
				if tt.runtime != nil {
					tt.runtime(&s.Runtime.Unit)
				}
				detail = newIndex(w.policy, s, History{}).kubelet().detail
			}, 20*time.Minute)
			if state != tt.state || !strings.Contains(detail, tt.says) {
				t.Errorf("verdict %s (%s), want %s (%s)", state, detail, tt.state, tt.says)
			}
			switch {
			case tt.state == IntendedDown && len(steps) > 0:
				t.Errorf("acted: %s", steps[0].Kind)
			case tt.state == KubeletDown && (len(steps) == 0 || steps[0].Kind != RestartKubelet):
				t.Errorf("steps %+v", steps)
			case tt.state == KubeletDown && (after < time.Minute || after > time.Minute+3*interval):
				t.Errorf("acted after %v", after)
			}
		})
	}
}

// The kubelet would only fail with CRI-O again, or start one that was stopped.
func TestKubeletIsNotStartedBeforeItsRuntime(t *testing.T) {
	lost := node.Job{Type: "start", Result: "dependency", Finished: time.Minute}
	for name, c := range map[string]struct {
		runtime func(*node.Snapshot)
		first   StepKind
	}{
		"CRI-O is tried again": {func(s *node.Snapshot) { s.Runtime.Unit.ActiveState = "activating" }, ""},
		"CRI-O was given up":   {func(s *node.Snapshot) { s.Runtime.Unit.ActiveState = "failed" }, RestartRuntime},
		"CRI-O was stopped":    {func(s *node.Snapshot) { s.Runtime.Unit.ActiveState = "inactive" }, ""},
		"the kubelet is masked": {func(s *node.Snapshot) {
			s.Kubelet.Unit.LoadState, s.Runtime.Unit.ActiveState = "masked", "failed"
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(1)
			w.runtimeUp = false
			_, _, steps := play(w, func(s *node.Snapshot, _ *world) {
				lose(s, time.Minute, lost)
				s.Runtime.Unit.MainPID = 0
				c.runtime(s)
			}, 20*time.Minute)
			switch {
			case c.first == "" && len(steps) > 0:
				t.Errorf("acted: %s", steps[0].Kind)
			case c.first != "" && (len(steps) == 0 || steps[0].Kind != c.first):
				t.Errorf("steps %+v, want %s", steps, c.first)
			}
		})
	}
}

// lose makes the kubelet's unit inactive.
func lose(s *node.Snapshot, since time.Duration, job node.Job) {
	u := &s.Kubelet.Unit
	u.ActiveState, u.SubState, u.MainPID, u.ProcessState, u.ProcessStarted = "inactive", "dead", 0, "", 0
	u.InactiveSince, u.LastJob = since, job
	s.Kubelet.Healthy, s.Kubelet.View = false, node.View{Source: node.ViewNone}
}
