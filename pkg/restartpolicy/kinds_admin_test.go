package restartpolicy

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// What an admin, or systemd for one, has in hand is left to them: OpenShift gives
// a stop 200 s (machine-config-operator 10-default-timeout-stop.conf).
func TestWhatAnAdminHasInHandIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, alter := range map[string]func(s *node.Snapshot, since time.Duration){
		"systemctl stop kubelet": func(s *node.Snapshot, since time.Duration) {
			mute(s)
			s.Kubelet.Unit.ActiveState, s.Kubelet.Unit.SubState = "deactivating", "stop-sigterm"
			if since > 200*time.Second {
				gone(s, "inactive", "success")
				s.Kubelet.Unit.InactiveSince, s.Kubelet.Unit.LastJob = 15*time.Minute, node.Job{Type: "stop", Result: "done", Finished: 15 * time.Minute}
			}
		},
		"systemctl stop kubelet, and the stop job waits": func(s *node.Snapshot, _ time.Duration) {
			mute(s)
			s.Kubelet.Unit.JobPending = true
		},
		"systemctl kill -s STOP and a job": func(s *node.Snapshot, _ time.Duration) {
			mute(s)
			s.Kubelet.Unit.ProcessState, s.Kubelet.Unit.JobPending = "T", true
		},
		"systemctl mask --now kubelet": func(s *node.Snapshot, _ time.Duration) {
			gone(s, "inactive", "success")
			s.Kubelet.Unit.LoadState = "masked"
		},
		"systemctl stop crio": func(s *node.Snapshot, since time.Duration) {
			unanswered(s, syscall.ECONNREFUSED, since)
			s.Runtime.Unit.ActiveState, s.Runtime.Unit.SubState = "deactivating", "stop-sigterm"
			if since > 200*time.Second {
				s.Runtime.Unit.ActiveState, s.Runtime.Unit.SubState, s.Runtime.Unit.MainPID = "inactive", "dead", 0
			}
		},
		"systemctl restart crio, which waits for its own stop": func(s *node.Snapshot, since time.Duration) {
			unanswered(s, syscall.ECONNREFUSED, since)
			s.Runtime.Unit.JobPending = true
		},
		"an update of the node":      func(s *node.Snapshot, _ time.Duration) { s.Host.Busy = []string{"ostree transaction"} },
		"a restore of the cluster":   func(s *node.Snapshot, _ time.Duration) { s.Host.Busy = []string{"cluster-restore.sh"} },
		"a shutdown with inhibitors": func(s *node.Snapshot, _ time.Duration) { s.Host.ShuttingDown = true },
		"nodekeeper pause":           func(s *node.Snapshot, _ time.Duration) { s.Host.Paused = "until 18:00, by alice" },
		"logind does not answer":     func(s *node.Snapshot, _ time.Duration) { s.Host.Err = errors.New("logind: deadline exceeded") },
		"a frozen container": func(s *node.Snapshot, _ time.Duration) {
			for i := range s.Runtime.Sandboxes {
				for j := range s.Runtime.Sandboxes[i].Containers {
					s.Runtime.Sandboxes[i].Containers[j].State, s.Runtime.Sandboxes[i].Containers[j].Process = node.ContainerRunning, node.Process{PID: 7, State: node.ProcessAlive, Frozen: true}
				}
			}
		},
		"the pod is opted out": func(s *node.Snapshot, _ time.Duration) {
			s.Intent.Pods[0].Pod.Annotations = map[string]string{OptOut: "off"}
		},
		"what runs was opted out": func(s *node.Snapshot, _ time.Duration) {
			for i := range s.Runtime.Sandboxes {
				s.Runtime.Sandboxes[i].Annotations = map[string]string{OptOut: "off"}
			}
		},
		"the manifest is taken away": func(s *node.Snapshot, _ time.Duration) { s.Intent.Pods = nil },
	} {
		for way, see := range ways {
			t.Run(name+", "+way, func(t *testing.T) {
				w := newWorld(2)
				w.crash(0, 1)
				w.watch(15*time.Minute, func(s *node.Snapshot, since time.Duration) { see(s); alter(s, since) }).
					quiet(t, "it is in somebody's hands")
			})
		}
	}
}

// Given static pods that are moved out and back, as restore scripts do, when the
// kubelet ends them and begins them anew with the same UID, then their grace and
// hold-off count from when the manifest came back.
func TestManifestThatIsMovedOutAndBack(t *testing.T) {
	t.Parallel()
	for name, out := range map[string]time.Duration{"for one look": interval, "for a minute": time.Minute, "for ten minutes": 10 * time.Minute} {
		for way, see := range ways {
			t.Run(name+", "+way, func(t *testing.T) {
				w := later(1)
				w.watch(40*time.Minute, func(s *node.Snapshot, since time.Duration) {
					see(s)
					if since < time.Minute {
						return
					}
					away := since - time.Minute
					if away < out {
						s.Intent.Pods = nil
					} else {
						s.Intent.Pods[0].Modified = w.wall.Add(-time.Hour) // as before
					}
					switch {
					case away < out+20*time.Second: // it is being ended
						exit(s, 0, 0)
						ended(s, corev1.PodRunning, 0)
					case away < out+80*time.Second: // the new sandbox is made
						s.Runtime.Sandboxes = nil
						if s.Kubelet.View.Known() {
							s.Kubelet.View.Pods = []node.PodView{{Name: node.PodName{Namespace: "kube-system", Name: "other-node1"}, UID: "x", Static: true}}
						}
					}
				}).quiet(t, "the kubelet begins it anew within a minute and a half")
			})
		}
	}
}

// An editor writes temporary files, and a manifest a few times in a row.
func TestManifestThatIsEditedAgainAndAgain(t *testing.T) {
	t.Parallel()
	for way, see := range ways {
		t.Run(way, func(t *testing.T) {
			w := newWorld(2)
			w.crash(0, 1)
			w.watch(time.Hour, func(s *node.Snapshot, since time.Duration) {
				see(s)
				s.Intent.Pods[0].Digest = fmt.Sprint(since / (80 * time.Second))
				s.Intent.Pods[0].Content = s.Intent.Pods[0].Digest
			}).quiet(t, "each change has its hold-off of a minute and the grace")
		})
	}
}

// A container that an admin stops or removes by hand is started by the kubelet.
func TestContainerThatAnAdminRemovesHasTime(t *testing.T) {
	t.Parallel()
	for name, alter := range map[string]func(s *node.Snapshot){
		"crictl rm -f": func(s *node.Snapshot) { s.Runtime.Sandboxes[0].Containers = s.Runtime.Sandboxes[0].Containers[1:] },
		"crictl stopp": func(s *node.Snapshot) { s.Runtime.Sandboxes[0].Ready = false; exit(s, 0, 137); exit(s, 1, 137) },
	} {
		for way, see := range ways {
			t.Run(name+", "+way, func(t *testing.T) {
				newWorld(2).watch(90*time.Second, func(s *node.Snapshot, _ time.Duration) { see(s); alter(s) }).
					quiet(t, "the kubelet starts it within a minute and a half")
			})
		}
	}
}
