package cri

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// Keys that the kubelet writes: pkg/kubelet/kuberuntime/labels.go,
// k8s.io/kubelet/pkg/types and pkg/kubelet/types, v1.37.
const (
	labelPodName      = "io.kubernetes.pod.name"
	labelPodNamespace = "io.kubernetes.pod.namespace"
	labelPodUID       = "io.kubernetes.pod.uid"
	labelContainer    = "io.kubernetes.container.name"

	annotationRestartCount = "io.kubernetes.container.restartCount"
	annotationGrace        = "io.kubernetes.pod.terminationGracePeriod"
	annotationDeletion     = "io.kubernetes.pod.deletionGracePeriod"
	annotationSource       = "kubernetes.io/config.source"
	// annotationApplied holds a whole manifest again, for kubectl alone.
	annotationApplied = "kubectl.kubernetes.io/last-applied-configuration"
)

// noGrace says that the kubelet wrote no grace period on a container.
const noGrace = -time.Second

// join turns a list into the node's types. Sandboxes are ordered by pod name,
// then UID, then attempt, newest first; their containers by name and then by
// attempt, newest first. Containers whose sandbox is not in the list (it came
// or went between the two calls) are counted and dropped.
func join(list List) (sandboxes []node.Sandbox, orphans int) {
	at := make(map[string]int, len(list.Sandboxes))
	sandboxes = make([]node.Sandbox, 0, len(list.Sandboxes))
	for _, s := range list.Sandboxes {
		sandboxes = append(sandboxes, sandbox(s))
	}
	slices.SortFunc(sandboxes, newestSandboxFirst)
	for i, s := range sandboxes {
		at[s.ID] = i
	}
	for _, c := range list.Containers {
		i, ok := at[c.GetPodSandboxId()]
		if !ok {
			orphans++
			continue
		}
		sandboxes[i].Containers = append(sandboxes[i].Containers, container(c))
	}
	for i := range sandboxes {
		slices.SortFunc(sandboxes[i].Containers, newestContainerFirst)
	}
	return sandboxes, orphans
}

func sandbox(s *runtimeapi.PodSandbox) node.Sandbox {
	meta := s.GetMetadata()
	annotations := s.GetAnnotations()
	delete(annotations, annotationApplied)
	return node.Sandbox{
		ID: s.GetId(),
		Pod: node.PodName{
			Namespace: cmp.Or(s.GetLabels()[labelPodNamespace], meta.GetNamespace()),
			Name:      cmp.Or(s.GetLabels()[labelPodName], meta.GetName()),
		},
		UID:         cmp.Or(s.GetLabels()[labelPodUID], meta.GetUid()),
		Attempt:     meta.GetAttempt(),
		Ready:       s.GetState() == runtimeapi.PodSandboxState_SANDBOX_READY,
		Source:      annotations[annotationSource],
		CreatedAt:   wallTime(s.GetCreatedAt()),
		Labels:      s.GetLabels(),
		Annotations: annotations,
	}
}

func container(c *runtimeapi.Container) node.Container {
	return node.Container{
		ID:        c.GetId(),
		SandboxID: c.GetPodSandboxId(),
		Name:      cmp.Or(c.GetLabels()[labelContainer], c.GetMetadata().GetName()),
		Attempt:   attempt(c),
		State:     containerState(c.GetState()),
		Image:     c.GetImage().GetImage(),
		CreatedAt: wallTime(c.GetCreatedAt()),
		Grace:     max(seconds(c.GetAnnotations()[annotationGrace]), seconds(c.GetAnnotations()[annotationDeletion])),
	}
}

// attempt is the metadata's; where that is 0, the annotation may know better.
func attempt(c *runtimeapi.Container) uint32 {
	if n := c.GetMetadata().GetAttempt(); n > 0 {
		return n
	}
	n, err := strconv.ParseUint(c.GetAnnotations()[annotationRestartCount], 10, 32)
	if err != nil {
		return 0
	}
	return uint32(n)
}

// seconds reads whole seconds; what is absent or no number is noGrace.
func seconds(text string) time.Duration {
	if text == "" {
		return noGrace
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		return noGrace
	}
	return time.Duration(n) * time.Second
}

func newestSandboxFirst(a, b node.Sandbox) int {
	return cmp.Or(
		cmp.Compare(a.Pod.Namespace, b.Pod.Namespace),
		cmp.Compare(a.Pod.Name, b.Pod.Name),
		cmp.Compare(a.UID, b.UID),
		cmp.Compare(b.Attempt, a.Attempt),
		cmp.Compare(a.ID, b.ID))
}

func newestContainerFirst(a, b node.Container) int {
	return cmp.Or(
		cmp.Compare(a.Name, b.Name),
		cmp.Compare(b.Attempt, a.Attempt),
		cmp.Compare(a.ID, b.ID))
}
