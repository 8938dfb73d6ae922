package restartpolicy

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// A pod's worker does one thing after the other: it kills with the pod's grace,
// pulls one image after the other, runs hooks, waits for volumes and network
// (kubelet pkg/kubelet/pod_workers.go podWorkerLoop, kuberuntime/
// kuberuntime_manager.go SyncPod; v1.30 to v1.37). A container that is down waits
// for all of that.

// graceOfAnHour gives the manifest and the records a long grace.
func graceOfAnHour(s *node.Snapshot) {
	grace := int64(3600)
	s.Intent.Pods[0].Pod.Spec.TerminationGracePeriodSeconds = &grace
	for i := range s.Runtime.Sandboxes[0].Containers {
		s.Runtime.Sandboxes[0].Containers[i].Grace = time.Hour
	}
}

// later is a node whose manifests are old.
func later(containers int) *world {
	w := newWorld(containers)
	w.now = 5 * time.Hour
	return w
}

// Given a container that is down, when the kubelet ends its sibling with a long
// grace, then it is waited for.
func TestSiblingThatIsBeingEndedIsWaitedFor(t *testing.T) {
	t.Parallel()
	probe := int64(1200)
	for name, alter := range map[string]func(s *node.Snapshot){
		"its liveness probe failed, and its preStop hook runs": graceOfAnHour,
		"its sandbox is gone, and it uses its grace":           func(s *node.Snapshot) { graceOfAnHour(s); s.Runtime.Sandboxes[0].Ready = false },
		"the manifest has a deletionGracePeriodSeconds only": func(s *node.Snapshot) {
			grace := int64(3600)
			s.Intent.Pods[0].Pod.DeletionGracePeriodSeconds = &grace
		},
		"the records have a longer one than the manifest": func(s *node.Snapshot) {
			for i := range s.Runtime.Sandboxes[0].Containers {
				s.Runtime.Sandboxes[0].Containers[i].Grace = time.Hour
			}
		},
		// kubelet kuberuntime_container.go setTerminationGracePeriod, v1.37.
		"its liveness probe has a grace of its own": func(s *node.Snapshot) {
			s.Intent.Pods[0].Pod.Spec.Containers[0].LivenessProbe = &corev1.Probe{TerminationGracePeriodSeconds: &probe}
		},
		"its startup probe has a grace of its own": func(s *node.Snapshot) {
			s.Intent.Pods[0].Pod.Spec.Containers[0].StartupProbe = &corev1.Probe{TerminationGracePeriodSeconds: &probe}
		},
	} {
		for way, see := range ways {
			t.Run(name+", "+way, func(t *testing.T) {
				w := later(2)
				w.crash(1, 0)
				w.watch(19*time.Minute, func(s *node.Snapshot, _ time.Duration) { see(s); alter(s) }).
					quiet(t, "the pod's worker is within the grace of the other container")
			})
		}
	}
}

// Given a container that has waited for something for longer than its deadline,
// when that comes to its end, then the kubelet has the time to start it.
func TestWhatAWorkerWaitedForEndsAndTheContainerStarts(t *testing.T) {
	t.Parallel()
	const over = 20 * time.Minute
	for name, busy := range map[string]func(s *node.Snapshot, done bool){
		"a sibling that used its grace": func(s *node.Snapshot, done bool) {
			graceOfAnHour(s)
			if done {
				exit(s, 0, 0)
				if s.Kubelet.View.Known() {
					s.Kubelet.View.Pods[0].Statuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
				}
			}
		},
		"the pull of its image": func(s *node.Snapshot, done bool) { s.Runtime.Images[worldImage] = node.AnswerOf(done) },
		"the network": func(s *node.Snapshot, done bool) {
			s.Runtime.Network = node.AnswerOf(done)
			if s.Kubelet.Told.Known() {
				says(s, min(s.Taken.Boot-time.Second, 5*time.Hour+over), "", "", "network is not ready: cni plugin not initialized")
			}
		},
		"a runtime that did not tell": func(s *node.Snapshot, done bool) {
			if !done {
				s.Runtime.Network, s.Runtime.Images = node.Unknown, nil
			}
		},
		"its sandbox, which was made anew": func(s *node.Snapshot, done bool) {
			s.Runtime.Sandboxes[0].Ready = done
			if done {
				s.Runtime.Sandboxes[0].ID, s.Runtime.Sandboxes[0].Attempt, s.Runtime.Sandboxes[0].Containers = "sb2", 1, nil
			} else {
				exit(s, 0, 137)
			}
		},
		"a short call of the runtime, repeated": func(s *node.Snapshot, done bool) {
			if !done {
				s.Runtime.Calls = []node.RuntimeCall{{PID: 9, Verb: "create", Age: 4 * time.Second}}
			}
		},
	} {
		for way, see := range ways {
			t.Run(name+", "+way, func(t *testing.T) {
				w := later(2)
				w.crash(1, 1)
				w.containers[1].restartAt = w.now + over + 25*time.Second
				w.watch(over+10*time.Minute, func(s *node.Snapshot, since time.Duration) {
					see(s)
					if w.containers[1].running {
						return
					}
					busy(s, since >= over)
				}).quiet(t, "the kubelet starts the container within 25 seconds")
			})
		}
	}
}

// Given an image that is pulled for each start, or is not there, then the pull is
// waited for, for ever.
func TestPullIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, alter := range map[string]func(w *world, s *node.Snapshot){
		"imagePullPolicy Always": func(w *world, s *node.Snapshot) {
			s.Intent.Pods[0].Pod.Spec.Containers[1].ImagePullPolicy = corev1.PullAlways
		},
		"the tag latest": func(w *world, s *node.Snapshot) {
			s.Intent.Pods[0].Pod.Spec.Containers[1].Image = "registry.example/app:latest"
		},
		"no tag": func(w *world, s *node.Snapshot) {
			s.Intent.Pods[0].Pod.Spec.Containers[1].Image = "registry.example:5000/app"
		},
		"the image is not there":    func(w *world, s *node.Snapshot) { s.Runtime.Images = map[string]node.Answer{worldImage: node.No} },
		"the runtime tells of none": func(w *world, s *node.Snapshot) { s.Runtime.Images = nil },
		"the manifest has a new image": func(w *world, s *node.Snapshot) {
			s.Intent.Pods[0].Pod.Spec.Containers[1].Image = "registry.example/app:2"
			s.Runtime.Images["registry.example/app:2"] = node.No
		},
		"its new sandbox has no record yet": func(w *world, s *node.Snapshot) {
			s.Runtime.Images = map[string]node.Answer{worldImage: node.No}
			s.Runtime.Sandboxes[0].Attempt = 1
			s.Runtime.Sandboxes[0].Containers = s.Runtime.Sandboxes[0].Containers[:1]
		},
		// Containers are started in the order of the manifest, and each pull is
		// waited for: kuberuntime_manager.go SyncPod, step 7.
		"that of a container before it": func(w *world, s *node.Snapshot) {
			exit(s, 0, 1)
			ended(s, corev1.PodRunning, 1, 1)
			s.Intent.Pods[0].Pod.Spec.Containers[0].Image = "registry.example/large:1"
			s.Runtime.Images["registry.example/large:1"] = node.No
		},
		// getImageVolumes, before any container: v1.31 to v1.37.
		"that of an image volume": func(w *world, s *node.Snapshot) {
			s.Intent.Pods[0].Pod.Spec.Volumes = []corev1.Volume{{Name: "model", VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "registry.example/model:1"}}}}
			s.Runtime.Images["registry.example/model:1"] = node.No
		},
		"that of an image volume of which the runtime tells nothing": func(w *world, s *node.Snapshot) {
			s.Intent.Pods[0].Pod.Spec.Volumes = []corev1.Volume{{Name: "model", VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "registry.example/model:1"}}}}
		},
	} {
		for way, see := range ways {
			t.Run(name+", "+way, func(t *testing.T) {
				w := newWorld(2)
				w.crash(1, 1)
				w.watch(12*time.Minute, func(s *node.Snapshot, _ time.Duration) { see(s); alter(w, s) }).
					quiet(t, "a new kubelet would only begin the pull again")
			})
		}
	}
}

// An image of a volume, or of another container, that is there holds nothing back.
func TestImagesThatAreThereHoldNoCureBack(t *testing.T) {
	t.Parallel()
	w := newWorld(2)
	w.crash(1, 1)
	w.until(10*time.Minute, func(s *node.Snapshot, _ time.Duration) {
		s.Intent.Pods[0].Pod.Spec.Volumes = []corev1.Volume{{Name: "model", VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "registry.example/model:1"}}}}
		s.Runtime.Images["registry.example/model:1"] = node.Yes
		s.Intent.Pods[0].Pod.Spec.Containers[0].Image = "registry.example/large:1" // It runs.
		s.Runtime.Images["registry.example/large:1"] = node.No
	}).first(t, RestartKubelet, 150*time.Second, 165*time.Second)
}

// Given a pod network that is away, then every pod that needs it waits for it,
// and those on the host's network do not.
func TestNetworkIsWaitedFor(t *testing.T) {
	t.Parallel()
	faults := map[string]func(w *world, s *node.Snapshot){
		"a container is down": func(w *world, s *node.Snapshot) { exit(s, 0, 1); ended(s, corev1.PodRunning, 1) },
		"the sandbox has to be made anew": func(w *world, s *node.Snapshot) {
			exit(s, 0, 137)
			exit(s, 1, 137)
			ended(s, corev1.PodRunning, 137, 137)
			s.Runtime.Sandboxes[0].Ready = false
		},
		"the new sandbox is empty": func(w *world, s *node.Snapshot) {
			s.Runtime.Sandboxes[0].Containers = nil
			waiting(s, 0, "ContainerCreating", "")
			waiting(s, 1, "ContainerCreating", "")
		},
		"there is no sandbox yet": func(w *world, s *node.Snapshot) {
			s.Runtime.Sandboxes = nil
			if s.Kubelet.View.Known() {
				s.Kubelet.View.Pods[0].Statuses = nil
				s.Kubelet.View.Pods[0].Phase = corev1.PodPending
			}
		},
	}
	for name, alter := range faults {
		for way, see := range ways {
			for _, answer := range []node.Answer{node.No, node.Unknown} {
				t.Run(name+", "+way+", ready "+answer.String(), func(t *testing.T) {
					newWorld(2).watch(25*time.Minute, func(s *node.Snapshot, _ time.Duration) {
						see(s)
						alter(nil, s)
						s.Runtime.Network, s.Runtime.NetworkDetail = answer, "No CNI configuration file in /etc/cni/net.d"
					}).quiet(t, "the kubelet begins no pod that needs the network")
				})
			}
		}
	}
	t.Run("on the host's network", func(t *testing.T) {
		w := newWorld(2)
		w.crash(0, 1)
		w.until(10*time.Minute, func(s *node.Snapshot, _ time.Duration) {
			s.Intent.Pods[0].Pod.Spec.HostNetwork = true
			s.Runtime.Network = node.No
		}).first(t, RestartKubelet, 150*time.Second, 165*time.Second)
	})
}

// Given a sidecar whose startup probe has not succeeded, then no later container
// begins (kuberuntime_container.go computeInitContainerActions), for as long as
// that takes. Without a view nobody tells.
func TestSidecarThatHasNotStartedIsWaitedFor(t *testing.T) {
	t.Parallel()
	always := corev1.ContainerRestartPolicyAlways
	no := false
	for name, more := range map[string][]corev1.Container{
		"a container waits":      nil,
		"an init container does": {{Name: "migrate", Image: worldImage}},
	} {
		for way, see := range ways {
			t.Run(name+", "+way, func(t *testing.T) {
				newWorld(1).watch(2*time.Hour, func(s *node.Snapshot, _ time.Duration) {
					addInit(s, corev1.Container{Name: "proxy", Image: worldImage, RestartPolicy: &always,
						StartupProbe: &corev1.Probe{PeriodSeconds: 60, FailureThreshold: 120}})
					for _, c := range more {
						addInit(s, c)
					}
					s.Runtime.Sandboxes[0].Containers = []node.Container{{ID: "proxy-0", SandboxID: "sb", Name: "proxy", State: node.ContainerRunning,
						Process: node.Process{PID: 7, State: node.ProcessAlive}}}
					v := &s.Kubelet.View.Pods[0]
					v.Phase = corev1.PodPending
					v.Statuses = []corev1.ContainerStatus{{Name: "proxy", State: running(), Started: &no},
						{Name: "c0", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}}}
					for _, c := range more {
						v.Statuses = append(v.Statuses, corev1.ContainerStatus{Name: c.Name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}})
					}
					see(s)
				}).quiet(t, "the sidecar's startup probe has two hours")
			})
		}
	}
}

// An init container may take as long as it likes.
func TestInitContainerThatRunsForHoursIsWaitedFor(t *testing.T) {
	t.Parallel()
	for way, see := range ways {
		t.Run(way, func(t *testing.T) {
			newWorld(2).watch(time.Hour, func(s *node.Snapshot, _ time.Duration) {
				addInit(s, corev1.Container{Name: "restore", Image: worldImage})
				s.Runtime.Sandboxes[0].Containers = []node.Container{{ID: "restore-0", SandboxID: "sb", Name: "restore", State: node.ContainerRunning,
					Process: node.Process{PID: 7, State: node.ProcessAlive}}}
				s.Kubelet.View.Pods[0].Phase = corev1.PodPending
				for i := range s.Kubelet.View.Pods[0].Statuses {
					s.Kubelet.View.Pods[0].Statuses[i].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}
				}
				see(s)
			}).quiet(t, "it restores a backup")
		})
	}
}

// A postStart hook holds up the containers after its own, within reason.
func TestPostStartHookIsWaitedForWithABound(t *testing.T) {
	t.Parallel()
	alter := func(s *node.Snapshot) {
		s.Intent.Pods[0].Pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"wait"}}}}
		s.Runtime.Sandboxes[0].Containers = s.Runtime.Sandboxes[0].Containers[:1]
		waiting(s, 0, "ContainerCreating", "")
		waiting(s, 1, "ContainerCreating", "")
	}
	newWorld(2).until(2*time.Hour, func(s *node.Snapshot, _ time.Duration) { alter(s) }).first(t, RestartKubelet, 20*time.Minute, 25*time.Minute)
	w := newWorld(2)
	w.crash(1, 1)
	w.watch(15*time.Minute, func(s *node.Snapshot, _ time.Duration) {
		s.Intent.Pods[0].Pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"wait"}}}}
		waiting(s, 0, "ContainerCreating", "")
	}).quiet(t, "the worker is in the hook of the first container")
}

// Given volumes that cannot be mounted, of which the kubelet says so every two
// minutes and a quarter, then they are waited for, for ever (volumemanager/
// volume_manager.go podAttachAndMountTimeout, 2 min 3 s, and 10 to 15 s until the
// next sync; v1.30 to v1.37).
func TestVolumesAreWaitedFor(t *testing.T) {
	t.Parallel()
	const round = 2*time.Minute + 15*time.Second
	const message = `unmounted volumes=[config], unattached volumes=[], failed to process volumes=[]: timed out waiting for the condition`
	for name, alter := range map[string]func(s *node.Snapshot){
		"of a pod that has not begun": func(s *node.Snapshot) {
			s.Runtime.Sandboxes = nil
			if s.Kubelet.View.Known() {
				s.Kubelet.View.Pods[0].Phase = corev1.PodPending
				waiting(s, 0, "ContainerCreating", "")
			}
		},
		"of a pod of which a new kubelet has to mount them anew": func(s *node.Snapshot) { exit(s, 0, 1); ended(s, corev1.PodRunning, 1) },
		"of a pod whose new sandbox is empty": func(s *node.Snapshot) {
			s.Runtime.Sandboxes[0].Containers = nil
			waiting(s, 0, "ContainerCreating", "")
		},
	} {
		for way, see := range map[string]func(*node.Snapshot){"with both": func(*node.Snapshot) {}, "with a journal": blind} {
			t.Run(name+", "+way, func(t *testing.T) {
				newWorld(1).watch(2*time.Hour, func(s *node.Snapshot, since time.Duration) {
					see(s)
					alter(s)
					s.Intent.Pods[0].Pod.Spec.Volumes = []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}}}
					said := since / round * round
					if said > 0 {
						said += bootTime
					}
					says(s, said, "", "", message)
				}).quiet(t, "no restart mounts a volume that is not there")
			})
		}
	}
}

// Given an old revision with a grace of ten minutes, set by
// deletionGracePeriodSeconds alone, when a new one waits for it, then it is not
// disturbed.
func TestOldRevisionHasItsGrace(t *testing.T) {
	t.Parallel()
	for name, alter := range map[string]func(s *node.Snapshot, since time.Duration){
		"all of it uses it":     func(s *node.Snapshot, since time.Duration) {},
		"one has ended at once": func(s *node.Snapshot, since time.Duration) { exit(s, 1, 0) },
		"it ends after 5 min": func(s *node.Snapshot, since time.Duration) {
			exit(s, 1, 0)
			if since > 5*time.Minute {
				exit(s, 0, 0)
			}
		},
		"the new one has little": func(s *node.Snapshot, since time.Duration) {
			grace := int64(1)
			s.Intent.Pods[0].Pod.Spec.TerminationGracePeriodSeconds = &grace
			exit(s, 1, 0)
		},
	} {
		for way, see := range map[string]func(*node.Snapshot){
			"with a view":         newRevisionWaits,
			"blind, with a UID":   func(s *node.Snapshot) { blind(s); s.Intent.Pods[0].Pod.UID = "new-uid" },
			"blind, without one":  func(s *node.Snapshot) { blind(s); s.Intent.Pods[0].Digest = "new" },
			"blind, with journal": func(s *node.Snapshot) { blind(s); s.Intent.Pods[0].Digest = "new"; silent(s) },
		} {
			t.Run(name+", "+way, func(t *testing.T) {
				later(2).watch(11*time.Minute, func(s *node.Snapshot, since time.Duration) {
					if since < time.Minute {
						return
					}
					see(s)
					for i := range s.Runtime.Sandboxes[0].Containers {
						s.Runtime.Sandboxes[0].Containers[i].Grace = 10 * time.Minute
					}
					alter(s, since-time.Minute)
				}).quiet(t, "the old revision is being ended, and has ten minutes")
			})
		}
	}
}
