package restartpolicy

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// ended sets what the view says of containers that have ended, and of the pod.
func ended(s *node.Snapshot, phase corev1.PodPhase, codes ...int32) {
	if !s.Kubelet.View.Known() {
		return
	}
	v := &s.Kubelet.View.Pods[0]
	v.Phase = phase
	for i, code := range codes {
		v.Statuses[i].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}
	}
}

// Given a pod that has ended as its manifest wants, when its records are there,
// or its sandbox is stopped, or the collector or an admin has removed all of it,
// then nothing is done, ever. The kubelet removes the remains of pods that have
// ended when the disk is short: pkg/kubelet/kuberuntime/kuberuntime_gc.go
// evictContainers and evictSandboxes, eviction/helpers.go; v1.30 to v1.37.
func TestPodThatHasEndedAsItsManifestWantsIsLeftAlone(t *testing.T) {
	t.Parallel()
	deadline := int64(60)
	never, onFailure := corev1.ContainerRestartPolicyNever, corev1.ContainerRestartPolicyOnFailure
	ends := map[string]func(s *node.Snapshot){
		"Never, and it failed": func(s *node.Snapshot) {
			s.Intent.Pods[0].Pod.Spec.RestartPolicy = corev1.RestartPolicyNever
			exit(s, 0, 1)
			ended(s, corev1.PodFailed, 1)
		},
		"Never, and it is done": func(s *node.Snapshot) {
			s.Intent.Pods[0].Pod.Spec.RestartPolicy = corev1.RestartPolicyNever
			exit(s, 0, 0)
			ended(s, corev1.PodSucceeded, 0)
		},
		"OnFailure, and it is done": func(s *node.Snapshot) {
			s.Intent.Pods[0].Pod.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
			exit(s, 0, 0)
			ended(s, corev1.PodSucceeded, 0)
		},
		"Never for the container": func(s *node.Snapshot) {
			s.Intent.Pods[0].Pod.Spec.Containers[0].RestartPolicy = &never
			exit(s, 0, 3)
			ended(s, corev1.PodFailed, 3)
		},
		"OnFailure for the container, and it is done": func(s *node.Snapshot) {
			s.Intent.Pods[0].Pod.Spec.Containers[0].RestartPolicy = &onFailure
			exit(s, 0, 0)
			ended(s, corev1.PodSucceeded, 0)
		},
		"Never, and no rule matches the code": func(s *node.Snapshot) {
			c := &s.Intent.Pods[0].Pod.Spec.Containers[0]
			c.RestartPolicy = &never
			c.RestartPolicyRules = []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestart,
				ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}}}}
			exit(s, 0, 1)
			ended(s, corev1.PodFailed, 1)
		},
		"its activeDeadlineSeconds are over": func(s *node.Snapshot) {
			s.Intent.Pods[0].Pod.Spec.ActiveDeadlineSeconds = &deadline
			exit(s, 0, 137)
			ended(s, corev1.PodFailed, 137)
			if s.Kubelet.View.Known() {
				s.Kubelet.View.Pods[0].Reason = "DeadlineExceeded"
			}
		},
		"Never, and its init container failed": func(s *node.Snapshot) {
			s.Intent.Pods[0].Pod.Spec.RestartPolicy = corev1.RestartPolicyNever
			addInit(s, corev1.Container{Name: "init", Image: worldImage})
			s.Runtime.Sandboxes[0].Containers = []node.Container{{ID: "init-0", SandboxID: "sb", Name: "init", State: node.ContainerExited, ExitCode: 1, Reason: "Error"}}
			if s.Kubelet.View.Known() {
				v := &s.Kubelet.View.Pods[0]
				v.Phase = corev1.PodFailed
				v.Statuses = []corev1.ContainerStatus{
					{Name: "init", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}},
					{Name: "c0", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}}}
			}
		},
	}
	remains := map[string]func(s *node.Snapshot){
		"its records are there":            func(*node.Snapshot) {},
		"its sandbox is stopped":           func(s *node.Snapshot) { s.Runtime.Sandboxes[0].Ready = false },
		"its records are gone":             func(s *node.Snapshot) { s.Runtime.Sandboxes[0].Ready = false; s.Runtime.Sandboxes[0].Containers = nil },
		"its sandbox and records are gone": func(s *node.Snapshot) { s.Runtime.Sandboxes = nil },
	}
	for end, alter := range ends {
		for remain, take := range remains {
			for way, see := range ways {
				t.Run(end+", "+remain+", "+way, func(t *testing.T) {
					w := newWorld(1)
					w.watch(22*time.Minute, func(s *node.Snapshot, since time.Duration) {
						if since < time.Minute {
							return // it ran, for all to see
						}
						see(s)
						alter(s)
						if since > 10*time.Minute {
							take(s)
						}
					}).quiet(t, "it has done what it was to do; a new kubelet would run it once more")
				})
			}
		}
	}
}

// One container is down for good while another runs.
func TestContainerThatIsDownForGoodBesideOneThatRuns(t *testing.T) {
	t.Parallel()
	never := corev1.ContainerRestartPolicyNever
	for way, see := range ways {
		t.Run(way, func(t *testing.T) {
			w := newWorld(2)
			w.spec.Containers[0].RestartPolicy = &never
			w.crash(0, 1)
			line := w.watch(time.Hour, func(s *node.Snapshot, _ time.Duration) { see(s) })
			line.quiet(t, "its own restart policy wants it down")
			if v := line.verdict(t, c0); v.State != IntendedDown {
				t.Errorf("%s: %s", v.State, v.Detail)
			}
		})
	}
}

// A kubelet that does not know container rules goes by the pod's policy.
func TestRulesCountOnlyWhereTheKubeletKnowsThem(t *testing.T) {
	t.Parallel()
	never := corev1.ContainerRestartPolicyNever
	w := newWorld(2)
	w.spec.Containers[0].RestartPolicy = &never
	w.crash(0, 1)
	w.until(10*time.Minute, func(s *node.Snapshot, _ time.Duration) { s.Settings.Version = "1.33.13" }).
		first(t, RestartKubelet, 150*time.Second, 165*time.Second)
}

// A sidecar that ends with its pod is not started again.
func TestSidecarOfAPodThatIsDone(t *testing.T) {
	t.Parallel()
	always := corev1.ContainerRestartPolicyAlways
	for way, see := range ways {
		t.Run(way, func(t *testing.T) {
			newWorld(1).watch(time.Hour, func(s *node.Snapshot, _ time.Duration) {
				s.Intent.Pods[0].Pod.Spec.RestartPolicy = corev1.RestartPolicyNever
				addInit(s, corev1.Container{Name: "proxy", Image: worldImage, RestartPolicy: &always})
				exit(s, 0, 0)
				s.Runtime.Sandboxes[0].Containers = append(s.Runtime.Sandboxes[0].Containers,
					node.Container{ID: "proxy-0", SandboxID: "sb", Name: "proxy", State: node.ContainerExited, ExitCode: 137})
				ended(s, corev1.PodSucceeded, 0)
				see(s)
			}).quiet(t, "the pod is done")
		})
	}
}

// A sidecar or init container that is down while the pod is wanted is cured.
func TestSidecarAndInitContainerThatAreForgotten(t *testing.T) {
	t.Parallel()
	always := corev1.ContainerRestartPolicyAlways
	for name, policy := range map[string]*corev1.ContainerRestartPolicy{"sidecar": &always, "init container": nil} {
		t.Run(name, func(t *testing.T) {
			newWorld(1).until(20*time.Minute, func(s *node.Snapshot, _ time.Duration) {
				addInit(s, corev1.Container{Name: "init", Image: worldImage, RestartPolicy: policy})
				sb := &s.Runtime.Sandboxes[0]
				dead := node.Container{ID: "init-0", SandboxID: "sb", Name: "init", State: node.ContainerExited, ExitCode: 1, Grace: -1}
				if policy == nil {
					sb.Containers = nil
				}
				sb.Containers = append(sb.Containers, dead)
				s.Kubelet.View.Pods[0].Statuses = append(s.Kubelet.View.Pods[0].Statuses, corev1.ContainerStatus{Name: "init",
					State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}})
			}).first(t, RestartKubelet, 120*time.Second, 165*time.Second)
		})
	}
}
