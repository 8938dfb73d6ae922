package manifest

import (
	"errors"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// parse returns the pod that the kubelet would run from a manifest. With an
// error, the name is set if the manifest gave one.
func parse(data []byte, nodeName string) (node.PodName, *corev1.Pod, error) {
	pod, err := decode(data)
	if err != nil {
		return node.PodName{}, nil, err
	}
	if pod.Name == "" {
		return node.PodName{}, nil, errors.New("metadata.name: is needed")
	}
	setDefaults(pod, nodeName)
	name := node.PodName{Namespace: pod.Namespace, Name: pod.Name}
	if err := check(pod); err != nil {
		return name, nil, err
	}
	if err := checkReferences(&pod.Spec); err != nil {
		return name, nil, err
	}
	return name, pod, nil
}
