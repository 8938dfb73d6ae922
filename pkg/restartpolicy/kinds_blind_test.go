package restartpolicy

import (
	"errors"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// Without a view and without a journal nobody can tell a container that is
// forgotten from one that waits: it is reported, with what is missing.
func TestBlindAndWithoutAJournalItIsReported(t *testing.T) {
	t.Parallel()
	for name, told := range map[string]node.Told{
		"there is none":          {},
		"it cannot be read":      {Err: errors.New("journalctl: permission denied"), From: time.Second},
		"lines have been lost":   {From: bootTime + 100*time.Hour},
		"it was not asked (yet)": {Last: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(2)
			w.crash(1, 1)
			line := w.watch(2*time.Hour, func(s *node.Snapshot, _ time.Duration) {
				blind(s)
				s.Kubelet.Told = told
				if told.From > time.Hour {
					s.Kubelet.Told.From = s.Taken.Boot - time.Minute // again and again
				}
			})
			line.quiet(t, "it may be pulled, or in its back-off")
			if v := line.verdict(t, c1); v.State != Forgotten || len(v.Missing()) == 0 {
				t.Errorf("%s, missing %v", v.State, v.Missing())
			}
		})
	}
}

// Given a pull that fails, offline and blind, then it is told from a forgotten
// container by the journal, and no record is touched.
func TestBlindAndTheImageCannotBePulled(t *testing.T) {
	t.Parallel()
	w := newWorld(2)
	w.crash(1, 1)
	line := w.watch(2*time.Hour, func(s *node.Snapshot, since time.Duration) {
		blind(s)
		s.Runtime.Images[worldImage] = node.No
		says(s, bootTime+since/(90*time.Second)*90*time.Second, "c1", "ImagePullBackOff", "Back-off pulling image")
	})
	line.quiet(t, "the registry is away")
	if v := line.verdict(t, c1); v.State != StartFailing {
		t.Errorf("%s: %s", v.State, v.Detail)
	}
}

// Given a line in the journal that is old, when the kubelet has said nothing since,
// then it is no answer: a working kubelet says so again with each sync.
func TestOldWordOfTheKubeletIsNoAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at     time.Duration
		record bool
	}{
		"of the time before the crash":                     {-5 * time.Minute, true},
		"of the first try after it":                        {20 * time.Second, true},
		"of hours before, and no record is left":           {-3 * time.Hour, false},
		"of the first try after it, and no record is left": {20 * time.Second, false},
	} {
		for _, reason := range []string{"ErrImagePull", "CreateContainerError", "CrashLoopBackOff", ""} {
			t.Run(name+", "+reason, func(t *testing.T) {
				w := later(2)
				w.crash(1, 1)
				w.until(2*time.Hour, func(s *node.Snapshot, since time.Duration) {
					blind(s)
					if at := 5*time.Hour + c.at; s.Taken.Boot > at {
						says(s, at, "c1", reason, "failed")
					} else {
						silent(s)
					}
					if !c.record {
						s.Runtime.Sandboxes[0].Attempt = 1
						s.Runtime.Sandboxes[0].Containers = s.Runtime.Sandboxes[0].Containers[:1]
					}
				}).first(t, RestartKubelet, 3*time.Minute, 40*time.Minute)
			})
		}
	}
}

// Each kubelet in its back-off says so at least every minute and a half.
func TestBlindCrashLoopWithinTheKubeletsTimes(t *testing.T) {
	t.Parallel()
	for name, every := range map[string]time.Duration{"every ten seconds": 10 * time.Second, "every minute": time.Minute, "every minute and a half": 90 * time.Second} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(2)
			w.containers[0].attempt = 8
			for range 3 {
				w.crash(0, 1)
				died := w.now
				w.containers[0].restartAt = died + 329*time.Second
				w.watch(335*time.Second, func(s *node.Snapshot, since time.Duration) {
					blind(s)
					if w.containers[0].running {
						silent(s)
						return
					}
					says(s, died+since/every*every, "c0", "CrashLoopBackOff", "back-off 5m0s restarting failed container=c0")
				}).quiet(t, "the longest back-off, and half a minute until the next sync")
			}
		})
	}
}

// A word about another container of the pod, or another pod, is no answer; yet
// while the kubelet writes of the pod it is at work on it.
func TestWordAboutAnother(t *testing.T) {
	t.Parallel()
	t.Run("container", func(t *testing.T) {
		w := newWorld(2)
		w.crash(0, 1)
		w.crash(1, 1)
		w.watch(time.Hour, func(s *node.Snapshot, since time.Duration) {
			blind(s)
			says(s, bootTime+since/(80*time.Second)*80*time.Second, "c0", "CreateContainerConfigError", "configmap not found")
		}).quiet(t, "the pod's worker is at work, and names its least failure only")
	})
	t.Run("pod", func(t *testing.T) {
		w := newWorld(2)
		w.crash(1, 1)
		w.until(time.Hour, func(s *node.Snapshot, since time.Duration) {
			blind(s)
			silent(s)
			s.Kubelet.Told.Pods = map[node.PodName]node.Said{{Namespace: "kube-system", Name: "etcd-node1"}: {At: s.Taken.Boot - time.Second, Reason: "ErrImagePull"}}
		}).first(t, RestartKubelet, 200*time.Second, 5*time.Minute)
	})
}

// A second manifest beside one that runs, and no sandbox can be made for it.
func TestBlindAndNoSandboxCanBeMade(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ message string }{
		"the network plug-in fails":           {"failed to \"CreatePodSandbox\" for \"second\" with CreatePodSandboxError"},
		"the RuntimeClass is missing":         {"failed to get sandbox runtime: no runtime for \"kata\" is configured"},
		"its directory cannot be made":        {"unable to create pod data directories"},
		"another pod is at its control group": {"failed to ensure that the pod: x cgroups exist and are correctly applied"},
	} {
		t.Run(name, func(t *testing.T) {
			newWorld(1).watch(2*time.Hour, func(s *node.Snapshot, since time.Duration) {
				blind(s)
				m := addPod(s, "second", nil)
				s.Runtime.Sandboxes = s.Runtime.Sandboxes[:1]
				silent(s)
				s.Kubelet.Told.Pods = map[node.PodName]node.Said{m.Name: {At: bootTime + since/(90*time.Second)*90*time.Second, Message: c.message}}
			}).quiet(t, "the kubelet tries, and says why it fails")
		})
	}
	line := newWorld(1).watch(2*time.Hour, func(s *node.Snapshot, _ time.Duration) {
		blind(s)
		addPod(s, "second", nil)
		s.Runtime.Sandboxes = s.Runtime.Sandboxes[:1]
	})
	line.quiet(t, "nobody tells whether the kubelet is at it")
}

// The view comes and goes, as the API server behind its authorization does.
func TestViewThatComesAndGoes(t *testing.T) {
	t.Parallel()
	for name, alter := range map[string]func(s *node.Snapshot, since time.Duration){
		"in a crash loop": func(s *node.Snapshot, since time.Duration) {
			exit(s, 0, 1)
			s.Runtime.Sandboxes[0].Containers[0].Attempt = 8
			s.Runtime.Sandboxes[0].Containers[0].FinishedAt = s.Taken.Wall.Add(-since)
			backedOff(s, 0)
		},
		"a rollout": func(s *node.Snapshot, since time.Duration) {
			if since > time.Minute && since < 2*time.Minute {
				newRevisionWaits(s)
				revise(s, "new")
			}
		},
		"all runs": func(*node.Snapshot, time.Duration) {},
	} {
		for seconds, every := range map[string]time.Duration{"every look": interval, "every half minute": 30 * time.Second, "every two minutes": 2 * time.Minute} {
			for way, see := range map[string]func(*node.Snapshot, time.Duration){
				"blind in between": func(s *node.Snapshot, _ time.Duration) { blind(s) },
				"a journal in between": func(s *node.Snapshot, since time.Duration) {
					blind(s)
					says(s, bootTime+since/(80*time.Second)*80*time.Second, "c0", "CrashLoopBackOff", "back-off 5m0s restarting failed container=c0")
				},
			} {
				t.Run(name+", "+seconds+", "+way, func(t *testing.T) {
					newWorld(1).watch(320*time.Second, func(s *node.Snapshot, since time.Duration) {
						alter(s, since)
						if since/every%2 == 1 {
							see(s, since)
						}
					}).quiet(t, "all is within the kubelet's times")
				})
			}
		}
	}
}
