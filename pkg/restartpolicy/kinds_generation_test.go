package restartpolicy

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// A change of a manifest after a minute, as the kubelet and the runtime show it.

// revise gives the manifest another content.
func revise(s *node.Snapshot, content string) {
	s.Intent.Pods[0].Digest, s.Intent.Pods[0].Content = content, content
	s.Intent.Pods[0].Modified = s.Taken.Wall
}

// oldRevision adds a sandbox of another UID.
func oldRevision(s *node.Snapshot, uid string, ready bool) *node.Sandbox {
	old := s.Runtime.Sandboxes[0]
	old.ID, old.UID, old.Ready = "sb-"+uid, uid, ready
	old.Containers = append([]node.Container(nil), old.Containers...)
	for i := range old.Containers {
		old.Containers[i].ID += "-" + uid
		old.Containers[i].SandboxID = old.ID
	}
	s.Runtime.Sandboxes = append(s.Runtime.Sandboxes, old)
	return &s.Runtime.Sandboxes[len(s.Runtime.Sandboxes)-1]
}

// The kubelet says which generation it works on, also before that has a sandbox.
func TestNewGenerationWithStatusesAndWithoutASandbox(t *testing.T) {
	t.Parallel()
	line := newWorld(1).watch(2*time.Hour, func(s *node.Snapshot, _ time.Duration) {
		s.Runtime.Sandboxes[0].UID = "old-uid"
		v := &s.Kubelet.View.Pods[0]
		v.UID, v.Phase = "new-uid", corev1.PodPending
		waiting(s, 0, "ContainerCreating", "")
	})
	line.quiet(t, "it makes the new sandbox")
	if v := line.verdict(t, app); v.State != Starting {
		t.Errorf("%s: %s", v.State, v.Detail)
	}
}

// Given a manifest that changed before our eyes, when the kubelet goes on with
// the old revision for good, then it is restarted: its watch and its listing of
// the manifests are dead.
func TestChangedManifestThatTheKubeletNeverReads(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(s *node.Snapshot){
		"another label": func(s *node.Snapshot) { s.Intent.Pods[0].Pod.Labels = map[string]string{"revision": "8"} },
		"one label more": func(s *node.Snapshot) {
			s.Intent.Pods[0].Pod.Labels = map[string]string{"revision": "7", "tier": "control-plane"}
		},
		"another annotation": func(s *node.Snapshot) { s.Intent.Pods[0].Pod.Annotations = map[string]string{"revision": "8"} },
		"another command":    func(s *node.Snapshot) { s.Intent.Pods[0].Pod.Spec.Containers[0].Command = []string{"other"} },
		"a UID of its own":   func(s *node.Snapshot) { s.Intent.Pods[0].Pod.UID = "new-uid" },
	} {
		t.Run(name, func(t *testing.T) {
			newWorld(1).until(2*time.Hour, func(s *node.Snapshot, since time.Duration) {
				s.Runtime.Sandboxes[0].Labels = map[string]string{"revision": "7"}
				s.Intent.Pods[0].Pod.Labels = map[string]string{"revision": "7"}
				if since > time.Minute {
					revise(s, "changed")
					change(s)
				}
			}).first(t, RestartKubelet, 4*time.Minute, 10*time.Minute)
		})
	}
}

// Given a change that is none to the kubelet, then nothing follows from it, with
// a crash loop or without.
func TestChangeThatIsNoneToTheKubelet(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(s *node.Snapshot, since time.Duration){
		"a comment": func(s *node.Snapshot, _ time.Duration) {
			s.Intent.Pods[0].Digest, s.Intent.Pods[0].Content = "commented", "same"
		},
		"a comment each minute": func(s *node.Snapshot, since time.Duration) {
			s.Intent.Pods[0].Digest, s.Intent.Pods[0].Content = fmt.Sprint(since/time.Minute), "same"
		},
		"an older time of modification": func(s *node.Snapshot, _ time.Duration) {
			s.Intent.Pods[0].Content, s.Intent.Pods[0].Modified = "same", time.Unix(0, 0)
		},
		"a later time of modification": func(s *node.Snapshot, _ time.Duration) {
			s.Intent.Pods[0].Content, s.Intent.Pods[0].Modified = "same", s.Taken.Wall
		},
		"labels that kubelet and runtime add": func(s *node.Snapshot, _ time.Duration) {
			s.Intent.Pods[0].Content = "same"
			s.Runtime.Sandboxes[0].Labels = map[string]string{"io.kubernetes.pod.name": "app-node1", "io.kubernetes.pod.uid": "uid",
				"io.kubernetes.pod.namespace": "kube-system", "io.kubernetes.container.name": "POD"}
		},
		// crio internal/oci RuntimeDefaultAnnotations; openshift pkg/kubelet/managed.
		"annotations that kubelet and runtime add": func(s *node.Snapshot, _ time.Duration) {
			s.Intent.Pods[0].Content = "same"
			s.Runtime.Sandboxes[0].Annotations = map[string]string{"kubernetes.io/config.source": "file", "kubernetes.io/config.hash": "3f2a",
				"io.kubernetes.cri-o.userns-mode": "auto", "resources.workload.openshift.io/main": `{"cpushares":102}`}
		},
		"an annotation of kubectl's": func(s *node.Snapshot, _ time.Duration) {
			s.Intent.Pods[0].Content = "same"
			s.Intent.Pods[0].Pod.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "kubernetes.io/config.source": "api"}
		},
		// crio server/utils.go FilterDisallowedAnnotations, v1.34.0: it takes those
		// off the sandbox that the runtime handler does not allow.
		"an annotation that the runtime does not allow": func(s *node.Snapshot, _ time.Duration) {
			s.Intent.Pods[0].Content = "same"
			s.Intent.Pods[0].Pod.Annotations = map[string]string{"io.kubernetes.cri-o.userns-mode": "auto", "irq-load-balancing.crio.io": "disable"}
		},
		// A plug-in of the runtime, or a handler of the kubelet's admission.
		"a label that something else adds": func(s *node.Snapshot, _ time.Duration) {
			s.Intent.Pods[0].Content = "same"
			s.Runtime.Sandboxes[0].Labels = map[string]string{"topology.example/zone": "a"}
		},
	} {
		for way, see := range ways {
			for fault, down := range map[string]bool{"all runs": false, "in a crash loop": true} {
				t.Run(name+", "+way+", "+fault, func(t *testing.T) {
					w := newWorld(1)
					w.containers[0].attempt = 8
					if down {
						w.crash(0, 1)
					}
					w.watch(5*time.Minute, func(s *node.Snapshot, since time.Duration) {
						s.Intent.Pods[0].Content = "same"
						if since > time.Minute {
							change(s, since)
						}
						if down {
							backedOff(s, 0)
						}
						see(s)
						if down && s.Kubelet.Told.Known() {
							says(s, bootTime+since/time.Minute*time.Minute, "c0", "CrashLoopBackOff", "back-off 5m0s restarting failed container=c0")
						}
					}).quiet(t, "the kubelet's UID for it is the same")
				})
			}
		}
	}
}

// Given the original bug, when it is seen with more or less, then it is cured in
// time: blind at most two minutes later than with a view.
func TestOriginalBugIsCuredHoweverTheNodeIsSeen(t *testing.T) {
	t.Parallel()
	const changed, died = time.Minute, 2 * time.Minute
	for name, c := range map[string]struct {
		alter func(s *node.Snapshot)
		to    time.Duration
	}{
		"with a view":                         {func(s *node.Snapshot) { newRevisionWaits(s) }, died + 130*time.Second},
		"blind, with a UID":                   {func(s *node.Snapshot) { blind(s); s.Intent.Pods[0].Pod.UID = "new-uid" }, died + 250*time.Second},
		"blind, with a UID and a journal":     {func(s *node.Snapshot) { blind(s); silent(s); s.Intent.Pods[0].Pod.UID = "new-uid" }, died + 250*time.Second},
		"blind, without a UID":                {func(s *node.Snapshot) { blind(s) }, died + 250*time.Second},
		"blind, without a UID, and a journal": {func(s *node.Snapshot) { blind(s); silent(s) }, died + 250*time.Second},
		"blind, and OpenShift's label of the revision": {func(s *node.Snapshot) {
			blind(s)
			s.Intent.Pods[0].Pod.Labels = map[string]string{"revision": "8"}
			s.Runtime.Sandboxes[0].Labels = map[string]string{"revision": "7"}
		}, died + 250*time.Second},
	} {
		for seen, from := range map[string]time.Duration{"the change was seen": changed, "it changed before the agent began": 0} {
			if from == 0 && (name == "blind, without a UID" || name == "blind, without a UID, and a journal") {
				continue // Nothing tells that it is another one.
			}
			t.Run(name+", "+seen, func(t *testing.T) {
				line := newWorld(2).until(30*time.Minute, func(s *node.Snapshot, since time.Duration) {
					if since >= from {
						revise(s, "new")
						c.alter(s)
					}
					if since >= died {
						exit(s, 0, 1)
					}
				})
				act := line.first(t, RestartKubelet, died, c.to)
				if act.State != WaitingForOld {
					t.Errorf("for %s", act.State)
				}
			})
		}
	}
}

// Given a revision that is rolled back to an earlier content while the kubelet
// runs, when its earlier sandbox goes on, then nothing waits for anything.
func TestRollbackToAnEarlierContent(t *testing.T) {
	t.Parallel()
	for way, see := range ways {
		for fault, down := range map[string]bool{"all runs": false, "in a crash loop": true} {
			t.Run(way+", "+fault, func(t *testing.T) {
				w := newWorld(1)
				w.containers[0].attempt = 8
				w.watch(12*time.Minute, func(s *node.Snapshot, since time.Duration) {
					see(s)
					switch {
					case since < time.Minute:
						revise(s, "A")
					case since < 90*time.Second:
						revise(s, "B") // for half a minute: the kubelet had not read it
					default:
						revise(s, "A")
					}
					if down && since > 3*time.Minute && since < 3*time.Minute+325*time.Second {
						exit(s, 0, 1)
						s.Runtime.Sandboxes[0].Containers[0].FinishedAt = w.wall.Add(bootTime + 3*time.Minute)
						backedOff(s, 0)
						if s.Kubelet.Told.Known() {
							says(s, bootTime+since/time.Minute*time.Minute, "c0", "CrashLoopBackOff", "back-off 5m0s restarting failed container=c0")
						}
					}
				}).quiet(t, "the same content has the same UID again")
			})
		}
	}
}

// A fallback writes a random UID, and each further one another (library-go
// pkg/operator/staticpod/startupmonitor/fallback.go): each is a generation.
func TestFallbacksOneAfterTheOther(t *testing.T) {
	t.Parallel()
	for way, see := range ways {
		t.Run(way, func(t *testing.T) {
			newWorld(1).watch(40*time.Minute, func(s *node.Snapshot, since time.Duration) {
				// A fallback every ten minutes; the kubelet takes 40 s for each.
				n := since / (10 * time.Minute)
				uid, before := fmt.Sprint("fallback-", n), fmt.Sprint("fallback-", n-1)
				revise(s, uid)
				s.Intent.Pods[0].Pod.UID = types.UID(uid)
				runs := uid
				if since%(10*time.Minute) < 40*time.Second && n > 0 {
					runs = before
				}
				s.Runtime.Sandboxes[0].UID = runs
				s.Kubelet.View.Pods[0].UID = runs
				see(s)
			}).quiet(t, "each fallback is taken up within 40 s")
		})
	}
}

// Given two sandboxes of one UID, when the newer is ready, then the other is the
// kubelet's to end, and no other generation.
func TestTwoSandboxesOfOneGeneration(t *testing.T) {
	t.Parallel()
	for name, alter := range map[string]func(s *node.Snapshot){
		"the older is not ready": func(s *node.Snapshot) { s.Runtime.Sandboxes[1].Ready = false },
		"both are ready":         func(s *node.Snapshot) {},
		"the older is empty":     func(s *node.Snapshot) { s.Runtime.Sandboxes[1].Containers = nil },
	} {
		for way, see := range ways {
			t.Run(name+", "+way, func(t *testing.T) {
				newWorld(2).watch(time.Hour, func(s *node.Snapshot, _ time.Duration) {
					old := oldRevision(s, "uid", true)
					old.ID = "sb-older"
					s.Runtime.Sandboxes[0].Attempt = 1
					alter(s)
					see(s)
				}).quiet(t, "the kubelet ends the pod's sandboxes when there are two, and makes a new one")
			})
		}
	}
}

// An old generation is stopped only where it is proved to be the old one.
func TestOldGenerationIsStoppedOnlyIfItIsProvedOld(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		alter func(s *node.Snapshot)
		stop  bool
	}{
		"the kubelet names the new one":  {func(*node.Snapshot) {}, true},
		"the manifest names the new one": {func(s *node.Snapshot) { blind(s); s.Intent.Pods[0].Pod.UID = "uid" }, true},
		"the kubelet lists both": {func(s *node.Snapshot) {
			v := s.Kubelet.View.Pods[0]
			v.Name.Name, v.UID = "app-former", "old"
			s.Kubelet.View.Pods = append(s.Kubelet.View.Pods, v)
		}, false},
		"nobody names any":         {func(s *node.Snapshot) { blind(s) }, false},
		"the new one is not ready": {func(s *node.Snapshot) { s.Runtime.Sandboxes[0].Ready = false }, false},
		"the new one has no container": {func(s *node.Snapshot) {
			s.Runtime.Sandboxes[0].Containers = nil
			waiting(s, 0, "ContainerCreating", "")
		}, false},
		"the old one is not from a file":  {func(s *node.Snapshot) { s.Runtime.Sandboxes[1].Source = "api" }, false},
		"where it came from is not known": {func(s *node.Snapshot) { s.Runtime.Sandboxes[1].Source = "" }, false},
		"the old one has a grace of an hour": {func(s *node.Snapshot) {
			for i := range s.Runtime.Sandboxes[1].Containers {
				s.Runtime.Sandboxes[1].Containers[i].Grace = time.Hour
			}
		}, false},
		"the grace of the old one is not known": {func(s *node.Snapshot) {
			hour := int64(3600)
			s.Intent.Pods[0].Pod.Spec.TerminationGracePeriodSeconds = &hour
			for i := range s.Runtime.Sandboxes[1].Containers {
				s.Runtime.Sandboxes[1].Containers[i].Grace = -1
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			line := later(1).watch(10*time.Minute, func(s *node.Snapshot, _ time.Duration) {
				oldRevision(s, "old", true)
				c.alter(s)
			})
			if !c.stop {
				line.quiet(t, "it may be the one that is meant, or has time to end")
				return
			}
			if act := line.first(t, StopOldSandbox, 150*time.Second, 170*time.Second); act.Target.SandboxID != "sb-old" {
				t.Errorf("stops %s", act.Target.SandboxID)
			}
		})
	}
}

// Three generations are taken one after the other, and the new one never.
func TestSeveralOldGenerationsAreStoppedOneByOne(t *testing.T) {
	t.Parallel()
	w := newWorld(1)
	stopped := map[string]bool{}
	line := w.watch(time.Hour, func(s *node.Snapshot, _ time.Duration) {
		for _, act := range w.ledger.Acts {
			stopped[act.Target.SandboxID] = true
		}
		for _, uid := range []string{"old", "older"} {
			if !stopped["sb-"+uid] {
				oldRevision(s, uid, true)
			}
		}
	})
	if len(line.acts) != 2 || stopped["sb"] {
		t.Errorf("acts %v", line.acts)
	}
}

// Given a kubelet of another version, which hashes each manifest to another UID,
// when old and new revisions are exchanged, then nothing is done; and blind the
// old one is not stopped, for nobody names the new one.
func TestNewVersionOfTheKubeletGivesEveryPodANewUID(t *testing.T) {
	t.Parallel()
	const replaced = time.Minute
	for way, see := range ways {
		t.Run(way, func(t *testing.T) {
			newWorld(2).watch(20*time.Minute, func(s *node.Snapshot, since time.Duration) {
				see(s)
				s.Intent.Pods[0].Content = "same"
				if since < replaced {
					return
				}
				s.Settings.Version = "1.38.0"
				s.Kubelet.Unit.ProcessStarted, s.Kubelet.Process.Started = bootTime+replaced, bootTime+replaced
				age := since - replaced
				if age < 100*time.Second {
					if s.Kubelet.View.Known() {
						newRevisionWaits(s)
					}
					if age > 30*time.Second {
						exit(s, 0, 0)
						exit(s, 1, 0)
					}
					return
				}
				s.Runtime.Sandboxes[0].ID, s.Runtime.Sandboxes[0].UID = "sb-new", "new-uid"
				if s.Kubelet.View.Known() {
					s.Kubelet.View.Pods[0].UID = "new-uid"
				}
			}).quiet(t, "the rollout takes 100 s")
		})
	}
}

// Blind, the generation that came after the change is the new one.
func TestBlindOldGenerationBesideOneThatCameAfterTheChange(t *testing.T) {
	t.Parallel()
	line := newWorld(1).until(20*time.Minute, func(s *node.Snapshot, since time.Duration) {
		blind(s)
		if since < time.Minute {
			s.Runtime.Sandboxes[0].ID, s.Runtime.Sandboxes[0].UID = "sb-old", "old"
			return
		}
		revise(s, "new")
		if since < 2*time.Minute {
			s.Runtime.Sandboxes[0].ID, s.Runtime.Sandboxes[0].UID = "sb-old", "old"
			return
		}
		oldRevision(s, "old", true)
	})
	if act := line.first(t, StopOldSandbox, 2*time.Minute+150*time.Second, 6*time.Minute); act.Target.SandboxID != "sb-old" {
		t.Errorf("stops %s", act.Target.SandboxID)
	}
}
