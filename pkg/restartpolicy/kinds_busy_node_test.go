package restartpolicy

import (
	"fmt"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// Given a node on which much goes on, when something is wrong with a static pod,
// then it is cured all the same: later perhaps, and not never.
func TestBusyNodeIsCuredToo(t *testing.T) {
	t.Parallel()
	for name, busy := range map[string]func(s *node.Snapshot, look int){
		"a container is created somewhere at every second look": func(s *node.Snapshot, look int) {
			if look%2 == 0 {
				s.Runtime.Calls = append(s.Runtime.Calls, node.RuntimeCall{PID: 900 + look, Verb: "create", ContainerID: fmt.Sprint("new-", look), Age: 300 * time.Millisecond})
			}
		},
		"containers of others start and stop at each look": func(s *node.Snapshot, look int) {
			job(s, node.ContainerRunning)
			s.Runtime.Calls = append(s.Runtime.Calls,
				node.RuntimeCall{PID: 900 + look, Verb: "start", ContainerID: "job-0", Age: time.Second},
				node.RuntimeCall{PID: 9000 + look, Verb: "delete", ContainerID: "gone", Age: time.Second})
		},
		"the runtime does not tell of its images every minute": func(s *node.Snapshot, look int) {
			if look%12 == 0 {
				s.Runtime.Images = nil
			}
		},
		"the runtime does not tell of the network every minute": func(s *node.Snapshot, look int) {
			if look%12 == 0 {
				s.Runtime.Network = node.Unknown
			}
		},
		"the view is late every minute": func(s *node.Snapshot, look int) {
			if look%12 == 0 && s.Kubelet.View.Known() {
				s.Kubelet.View = node.View{Source: node.ViewNone, Err: errNoAnswer}
			}
		},
		"systemd is late every minute": func(s *node.Snapshot, look int) {
			if look%12 == 0 {
				unknown["systemd"](s)
			}
		},
		"CRI is late every minute": func(s *node.Snapshot, look int) {
			if look%12 == 0 && s.Runtime.Err == nil {
				unanswered(s, errNoAnswer, 0)
			}
		},
	} {
		for _, fault := range []string{"forgotten", "forgotten, with a journal only", "waits for an old revision", "never started", "the kubelet is stopped by a signal", "two generations", "stale running", "created and never started", "rejected"} {
			t.Run(name+", "+fault, func(t *testing.T) {
				w, alter := curable[fault]()
				look := 0
				line := w.until(time.Hour, func(s *node.Snapshot, since time.Duration) {
					alter(s, since)
					look++
					busy(s, look)
				})
				line.first(t, cures[fault].kind, cures[fault].at, 15*time.Minute)
			})
		}
	}
}

// And where nothing is wrong, nothing is done.
func TestBusyNodeIsLeftAlone(t *testing.T) {
	t.Parallel()
	for way, see := range ways {
		t.Run(way, func(t *testing.T) {
			look := 0
			newWorld(2).watch(12*time.Minute, func(s *node.Snapshot, _ time.Duration) {
				see(s)
				look++
				for i := range 30 {
					addPod(s, fmt.Sprint("pod", i), nil)
				}
				s.Runtime.Calls = []node.RuntimeCall{{PID: 900 + look, Verb: "create", ContainerID: fmt.Sprint("new-", look), Age: 9 * time.Second}}
				s.Kubelet.Healthy = look%3 == 0
			}).quiet(t, "all runs")
		})
	}
}
