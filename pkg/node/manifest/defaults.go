package manifest

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// setDefaults gives a pod the name and the namespace under which the kubelet
// runs it, and the defaults without which nobody can say when it is to be
// restarted and how long its end may take. All other defaults are left out,
// and so is the UID.
//
// Mirrors kubelet pkg/kubelet/config/common.go applyDefaults and
// generatePodName, and pkg/apis/core/v1/defaults.go SetDefaults_PodSpec and
// SetDefaults_Pod, v1.37.
func setDefaults(pod *corev1.Pod, nodeName string) {
	pod.Name += "-" + strings.ToLower(nodeName)
	if pod.Namespace == "" {
		pod.Namespace = metav1.NamespaceDefault
	}
	spec := &pod.Spec
	if spec.RestartPolicy == "" {
		spec.RestartPolicy = corev1.RestartPolicyAlways
	}
	switch grace := spec.TerminationGracePeriodSeconds; {
	case grace == nil:
		spec.TerminationGracePeriodSeconds = ptr.To[int64](corev1.DefaultTerminationGracePeriodSeconds)
	case *grace < 0: // not refused, but taken for one second
		*grace = 1
	}
	if spec.ServiceAccountName == "" {
		spec.ServiceAccountName = spec.DeprecatedServiceAccount
	}
}
