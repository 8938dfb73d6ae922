package manifest

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// fault is why the kubelet runs no pod from a file: the kind of problem, what is
// wrong and what to do.
type fault struct{ kind, why, advice string }

// parse fills in what a manifest's bytes say: the name as far as it is known,
// and the pod if the kubelet takes one up. Such a pod has a fault where the
// kubelet never runs it; it takes its name and its UID from others all the same.
func parse(data []byte, nodeName string, of kubelet, m *node.Manifest) *fault {
	pod, err := decode(data)
	if pod != nil && pod.Name != "" {
		name := *pod
		setName(&name, nodeName)
		m.Name = node.PodName{Namespace: name.Namespace, Name: name.Name}
	}
	if err != nil {
		return &fault{node.ProblemUnparsable, err.Error(), "the kubelet runs no pod from this file: mend it, or move it out of the directory"}
	}
	setDefaults(pod)
	m.Content = contentOf(pod)
	of.forget(pod)
	setName(pod, nodeName)

	c := check{kubelet: of}
	c.must(m.Name.Name != "", "metadata.name", "is needed")
	c.pod(pod)
	c.references(&pod.Spec)
	if c.refusal == "" {
		m.Pod, m.Doubt = pod, c.doubt
	}
	if odd := neverRuns(pod); odd != nil {
		return odd
	}
	if c.refusal != "" {
		return &fault{node.ProblemRefused, c.refusal, "the kubelet refuses the pod: correct that, or move the file out of the directory"}
	}
	return nil
}

// neverRuns finds what makes the kubelet pass over a pod that it has taken up.
// Nothing in the status does: the kubelet makes its phase Pending (pkg/kubelet
// config/common.go applyDefaults, v1.30 to v1.37).
//
// Mirrors kubelet pkg/kubelet/kubelet.go HandlePodAdditions with
// types/pod_update.go IsMirrorPod, and pod_workers.go UpdatePod, v1.30 to v1.37.
func neverRuns(pod *corev1.Pod) *fault {
	if _, ok := pod.Annotations[corev1.MirrorPodAnnotationKey]; ok {
		return &fault{node.ProblemRefused, "metadata.annotations[" + corev1.MirrorPodAnnotationKey + "]: the kubelet takes the pod for a mirror pod and never runs it",
			"remove the annotation, or move the file out of the directory"}
	}
	if pod.DeletionTimestamp != nil {
		return &fault{node.ProblemRefused, "metadata.deletionTimestamp: the kubelet ends the pod and never runs it",
			"remove the field, or move the file out of the directory"}
	}
	return nil
}
