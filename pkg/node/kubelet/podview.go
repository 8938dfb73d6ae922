package kubelet

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// sourceAnnotation is where the kubelet notes who gave it a pod: "file",
// "http" or "api" (kubelet pkg/kubelet/types ConfigSourceAnnotationKey).
const sourceAnnotation = "kubernetes.io/config.source"

// errNotAPod is what a decoded pod without a name is: bytes of something else.
var errNotAPod = errors.New("not a pod: it has no namespace, name or UID")

// kubeletPod is what both sources hand over of one pod, before it is cut down.
type kubeletPod struct {
	meta   metav1.ObjectMeta
	status corev1.PodStatus
}

func (p *kubeletPod) check() error {
	if p.meta.Namespace == "" || p.meta.Name == "" || p.meta.UID == "" {
		return errNotAPod
	}
	return nil
}

// appendView adds a pod's view. Mirror pods are left out: they stand in the
// API for a static pod that is in the list itself, under the same name.
func appendView(views []node.PodView, p *kubeletPod) []node.PodView {
	if _, mirror := p.meta.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return views
	}
	source := p.meta.Annotations[sourceAnnotation]
	return append(views, node.PodView{
		Name:        node.PodName{Namespace: p.meta.Namespace, Name: p.meta.Name},
		UID:         string(p.meta.UID),
		Static:      source == "file" || source == "http",
		Phase:       p.status.Phase,
		Reason:      p.status.Reason,
		Message:     p.status.Message,
		Terminating: p.meta.DeletionTimestamp != nil,
		Statuses:    statuses(&p.status),
	})
}

// statuses are those of init and regular containers, without what no reader
// of a view needs and what makes up most of a status: a snapshot is kept
// until the next one has been judged.
func statuses(s *corev1.PodStatus) []corev1.ContainerStatus {
	out := make([]corev1.ContainerStatus, 0, len(s.InitContainerStatuses)+len(s.ContainerStatuses))
	for _, list := range [][]corev1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
		for _, c := range list {
			c.AllocatedResources, c.Resources, c.AllocatedResourcesStatus = nil, nil, nil
			c.VolumeMounts, c.User = nil, nil
			out = append(out, c)
		}
	}
	return out
}

func podErr(p *kubeletPod, err error) error {
	if p.meta.Name == "" {
		return err
	}
	return fmt.Errorf("%s/%s: %w", p.meta.Namespace, p.meta.Name, err)
}
