package restartpolicy

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Gates are the kubelet's feature gates that change when it restarts
// containers.
type Gates struct {
	ContainerRestartRules                bool
	RestartAllContainersOnContainerExits bool
	KubeletCrashLoopBackOffMax           bool
	ReduceDefaultCrashLoopBackOffDecay   bool
}

// GatesOf returns the gates of a kubelet of that version, such as "1.33.13", with
// the explicit settings laid over them. Of a version that is not known, what
// would make it wait less is taken for off.
func GatesOf(version string, set map[string]bool) Gates {
	minor, known := minorOf(version)
	gate := func(name string, onSince int, unknown bool) bool {
		if on, ok := set[name]; ok {
			return on
		}
		if !known {
			return unknown
		}
		return minor >= onSince
	}
	return Gates{
		ContainerRestartRules:                gate("ContainerRestartRules", 35, true),
		RestartAllContainersOnContainerExits: gate("RestartAllContainersOnContainerExits", 36, true),
		KubeletCrashLoopBackOffMax:           gate("KubeletCrashLoopBackOffMax", 35, false),
		ReduceDefaultCrashLoopBackOffDecay:   set["ReduceDefaultCrashLoopBackOffDecay"],
	}
}

// minorOf is the minor of a version 1.x.
func minorOf(version string) (int, bool) {
	rest, ok := strings.CutPrefix(version, "1.")
	if !ok {
		return 0, false
	}
	text, _, _ := strings.Cut(rest, ".")
	minor, err := strconv.Atoi(text)
	return minor, err == nil
}

// Restart is what the kubelet does about an exited container.
type Restart int

const (
	// RestartNo: it stays down, as its restart policy wants.
	RestartNo Restart = iota
	// RestartYes: the kubelet starts it again after its back-off.
	RestartYes
	// RestartAll: a rule matched that ends and restarts every container of the
	// pod.
	RestartAll
)

// AfterExit tells what the kubelet does about a regular or init container of
// pod that exited with code. Container rules come first, then the container's
// policy, then the pod's.
// Mirrors k8s.io/kubernetes pkg/api/v1/pod ContainerShouldRestart and
// pkg/kubelet/container ShouldContainerBeRestarted, v1.37.
func AfterExit(pod *corev1.PodSpec, container *corev1.Container, code int32, gates Gates) Restart {
	if gates.ContainerRestartRules && container.RestartPolicy != nil {
		if action, ok := matchingAction(container.RestartPolicyRules, code); ok {
			switch action {
			case corev1.ContainerRestartRuleActionRestart:
				return RestartYes
			case corev1.ContainerRestartRuleActionRestartAllContainers:
				if gates.RestartAllContainersOnContainerExits {
					return RestartAll
				}
			}
		}
		switch *container.RestartPolicy {
		case corev1.ContainerRestartPolicyAlways:
			return RestartYes
		case corev1.ContainerRestartPolicyOnFailure:
			return yesIf(code != 0)
		case corev1.ContainerRestartPolicyNever:
			return RestartNo
		}
	}
	switch pod.RestartPolicy {
	case corev1.RestartPolicyOnFailure:
		return yesIf(code != 0)
	case corev1.RestartPolicyNever:
		return RestartNo
	}
	return RestartYes
}

func yesIf(restart bool) Restart {
	if restart {
		return RestartYes
	}
	return RestartNo
}

// matchingAction returns the action of the first rule whose exit codes match.
// Mirrors pkg/api/v1/pod FindMatchingContainerRestartRule, v1.37.
func matchingAction(rules []corev1.ContainerRestartRule, code int32) (corev1.ContainerRestartRuleAction, bool) {
	for _, rule := range rules {
		if rule.ExitCodes == nil {
			continue
		}
		in := false
		for _, v := range rule.ExitCodes.Values {
			in = in || v == code
		}
		switch rule.ExitCodes.Operator {
		case corev1.ContainerRestartRuleOnExitCodesOpIn:
			if in {
				return rule.Action, true
			}
		case corev1.ContainerRestartRuleOnExitCodesOpNotIn:
			if !in {
				return rule.Action, true
			}
		}
	}
	return "", false
}

// sidecar tells whether an init container is a restartable one, which runs
// beside the regular containers.
func sidecar(container *corev1.Container) bool {
	return container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways
}
