package restartpolicy

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// reasons are those that a kubelet of 1.30 to 1.37 names for a container that it
// does not start, beside CrashLoopBackOff, ContainerCreating and PodInitializing.
// kubelet pkg/kubelet/images/types.go, container/sync_result.go, kuberuntime/
// kuberuntime_container.go, kubelet_pods.go, and kubelet.go of 1.30 (Blocked);
// cri-api pkg/errors/errors.go.
var reasons = map[string]string{
	"ErrImagePull":               "dial tcp: lookup registry.example: no such host",
	"ImagePullBackOff":           `Back-off pulling image "registry.example/app:1"`,
	"ErrImageNeverPull":          "image is not present with pull policy of Never",
	"InvalidImageName":           "couldn't parse image name",
	"ImageInspectError":          "Failed to inspect image",
	"RegistryUnavailable":        "pull failed because the registry is unavailable",
	"SignatureValidationFailed":  "signature validation failed",
	"ImageVolumeMountFailed":     "mount failed",
	"RROUnsupported":             "recursive read-only mounts are not supported",
	"CreateContainerConfigError": `configmap "app" not found`,
	"PreCreateHookError":         "hook failed",
	"CreateContainerError":       "sandbox infra container unexpectedly invalid",
	"PreStartHookError":          "hook failed",
	"RunContainerError":          `exec: "serve": executable file not found in $PATH`,
	"PostStartHookError":         "command exited with 1",
	"KillContainerError":         "failed to stop container",
	"RemoveContainerError":       "failed to remove container",
	"RestartingAllContainers":    "the containers of the pod are restarted together",
	"CreatePodSandboxError":      "plugin type=ovn-k8s-cni-overlay failed",
	"KillPodSandboxError":        "plugin type=ovn-k8s-cni-overlay failed",
	"ResizePodInPlaceError":      "not enough memory",
	"Blocked":                    "AppArmor profile is not loaded",
	"AReasonOfALaterVersion":     "something new",
}

// Given a container that is down, when the kubelet names a reason, then that is
// reported in its words, for as long as it stands.
func TestReasonOfTheKubeletIsAnAnswer(t *testing.T) {
	t.Parallel()
	for reason, message := range reasons {
		for name, see := range map[string]func(s *node.Snapshot, since time.Duration){
			"in its view": func(s *node.Snapshot, _ time.Duration) { waiting(s, 1, reason, message) },
			"in its view, and no record is left": func(s *node.Snapshot, _ time.Duration) {
				s.Runtime.Sandboxes[0].Attempt = 1
				s.Runtime.Sandboxes[0].Containers = s.Runtime.Sandboxes[0].Containers[:1]
				waiting(s, 1, reason, message)
			},
			"in its journal": func(s *node.Snapshot, since time.Duration) {
				blind(s)
				says(s, bootTime+since/(80*time.Second)*80*time.Second, "c1", reason, message)
			},
			"in its journal, and no record is left": func(s *node.Snapshot, since time.Duration) {
				s.Runtime.Sandboxes[0].Attempt = 1
				s.Runtime.Sandboxes[0].Containers = s.Runtime.Sandboxes[0].Containers[:1]
				blind(s)
				says(s, bootTime+since/(80*time.Second)*80*time.Second, "c1", reason, message)
			},
		} {
			t.Run(reason+" "+name, func(t *testing.T) {
				w := newWorld(2)
				w.crash(1, 1)
				line := w.watch(14*time.Minute, see)
				line.quiet(t, "the kubelet tries, and says why it fails")
				if v := line.verdict(t, c1); v.State != StartFailing || !strings.Contains(v.Detail, reason) || !strings.Contains(v.Detail, message) {
					t.Errorf("%s: %s", v.State, v.Detail)
				}
			})
		}
	}
}

// The failures of pulls stand until the next sync, and then the back-off does.
func TestPullsThatFailInTurnWithTheirBackOff(t *testing.T) {
	t.Parallel()
	for _, failure := range []string{"ErrImagePull", "SignatureValidationFailed", "RegistryUnavailable"} {
		for way, see := range ways {
			t.Run(failure+", "+way, func(t *testing.T) {
				w := newWorld(2)
				w.crash(1, 1)
				w.watch(25*time.Minute, func(s *node.Snapshot, since time.Duration) {
					reason := pullReason(failure, since)
					waiting(s, 1, reason, "registry.example/app:1")
					s.Runtime.Images[worldImage] = node.No
					see(s)
					if s.Kubelet.Told.Known() {
						says(s, bootTime+since/(60*time.Second)*60*time.Second, "c1", reason, "registry.example/app:1")
					}
				}).quiet(t, "the image cannot be pulled, whoever is restarted")
			})
		}
	}
}

// pullReason is what the kubelet says at a time after the crash: it pulls at 0,
// 10, 30, 70, 150, 310 s and then every 300 s, and each failure stands for 14 s.
func pullReason(failure string, since time.Duration) string {
	at, gap := time.Duration(0), 10*time.Second
	for since >= at+gap {
		at, gap = at+gap, min(2*gap, 300*time.Second)
	}
	if since-at < 14*time.Second {
		return failure
	}
	return "ImagePullBackOff"
}

// Given a kubelet that fails at each try and backs off in between, when the two
// reasons stand by turns, then the back-off alone is not called forgotten.
func TestFailureInTurnWithTheCrashLoopsBackOff(t *testing.T) {
	t.Parallel()
	for name, period := range map[string]time.Duration{"half a minute each": time.Minute, "a failure every five minutes": 5 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(2)
			w.containers[1].attempt = 6
			w.crash(1, 137)
			w.watch(time.Hour, func(s *node.Snapshot, since time.Duration) {
				if since%period < 20*time.Second {
					waiting(s, 1, "CreateContainerError", "sandbox infra container unexpectedly invalid")
				} else {
					backedOff(s, 1)
				}
			}).quiet(t, "the kubelet named its reason a moment ago")
		})
	}
}

// A failing init container or sidecar is the kubelet's to name as well.
func TestReasonOfAnInitContainerIsAnAnswer(t *testing.T) {
	t.Parallel()
	always := corev1.ContainerRestartPolicyAlways
	for name, policy := range map[string]*corev1.ContainerRestartPolicy{"init container": nil, "sidecar": &always} {
		for reason, message := range reasons {
			t.Run(name+", "+reason, func(t *testing.T) {
				newWorld(1).watch(21*time.Minute, func(s *node.Snapshot, _ time.Duration) {
					addInit(s, corev1.Container{Name: "init", Image: "registry.example/init:1", RestartPolicy: policy})
					s.Runtime.Sandboxes[0].Containers = nil
					s.Kubelet.View.Pods[0].Phase = corev1.PodPending
					s.Kubelet.View.Pods[0].Statuses = []corev1.ContainerStatus{
						{Name: "init", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}},
						{Name: "c0", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}}}
				}).quiet(t, "the kubelet tries to start the init container, and says why it fails")
			})
		}
	}
}

// What speaks against the runtime is the time that it takes, and a name that it
// keeps.
func TestReasonsThatSpeakAgainstTheRuntime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ reason, message string }{
		"creations time out":  {"CreateContainerError", "context deadline exceeded"},
		"starts time out":     {"RunContainerError", "rpc error: code = DeadlineExceeded desc = context deadline exceeded"},
		"a name stays in use": {"CreateContainerError", `the container name "k8s_c0_app-node1" is already in use by 3f2a. You have to remove that container to be able to reuse that name: that name is reserved`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(1)
			w.crash(0, 1)
			w.until(time.Hour, func(s *node.Snapshot, _ time.Duration) { waiting(s, 0, c.reason, c.message) }).
				first(t, RestartRuntime, 10*time.Minute, 11*time.Minute)
		})
	}
}

// Given starts that the runtime lets time out, when the kubelet makes a new
// attempt for each, then the fault is as old as the first of them: each attempt
// leaves a record that was created and never started.
func TestStartsThatTimeOutWithANewAttemptEachTime(t *testing.T) {
	t.Parallel()
	const round = 2*time.Minute + 12*time.Second
	w := newWorld(1)
	w.crash(0, 1)
	line := w.watch(time.Hour, func(s *node.Snapshot, since time.Duration) {
		attempt := uint32(1 + since/round)
		sb := &s.Runtime.Sandboxes[0]
		dead := sb.Containers[0]
		sb.Containers = nil
		for a := attempt; a > 0 && a+3 > attempt; a-- {
			sb.Containers = append(sb.Containers, node.Container{ID: "c0-" + string(rune('a'+a)), SandboxID: "sb", Name: "c0", Attempt: a, State: node.ContainerCreated})
		}
		sb.Containers = append(sb.Containers, dead)
		waiting(s, 0, "RunContainerError", "context deadline exceeded")
	})
	for _, a := range line.acts {
		if a.Kind == RestartRuntime {
			return
		}
	}
	line.show(t)
	t.Errorf("acts %v within an hour: want a restart of the runtime, which lets each start time out", line.acts)
}

// addInit puts an init container before the others.
func addInit(s *node.Snapshot, c corev1.Container) {
	spec := &s.Intent.Pods[0].Pod.Spec
	spec.InitContainers = append(spec.InitContainers, c)
}
