package nri

import (
	"fmt"
	"strconv"
	"time"

	"github.com/containerd/nri/pkg/api"

	"github.com/nodekeeper/nodekeeper/pkg/lifecycle"
)

// Annotations that the events are made from. The kubelet gives the first two:
// kubelet pkg/kubelet/types/pod_update.go and pkg/kubelet/kuberuntime/labels.go.
// CRI-O alone gives the third; on containerd the log's path and the attempt have
// to come from CRI.
const (
	configSource = "kubernetes.io/config.source"
	restartCount = "io.kubernetes.container.restartCount"
	logPath      = "io.kubernetes.cri-o.LogPath"
)

// static says that the kubelet read the pod from a manifest.
func static(pod *api.PodSandbox) bool {
	source := pod.GetAnnotations()[configSource]
	return source == "file" || source == "http"
}

// event is what the runtime said in the words of package lifecycle. Every field
// of the runtime's messages may be missing.
func event(kind lifecycle.Kind, pod *api.PodSandbox, c *api.Container, at time.Time, detail string) lifecycle.Event {
	// ParseUint gives the largest number for one out of range.
	attempt, err := strconv.ParseUint(c.GetAnnotations()[restartCount], 10, 32)
	if err != nil {
		attempt = 0
	}
	return lifecycle.Event{
		Kind:        kind,
		Source:      lifecycle.NRI,
		ContainerID: c.GetId(),
		SandboxID:   pod.GetId(),
		Namespace:   pod.GetNamespace(),
		Pod:         pod.GetName(),
		PodUID:      pod.GetUid(),
		Container:   c.GetName(),
		Attempt:     uint32(attempt),
		LogPath:     c.GetAnnotations()[logPath],
		Pid:         int(c.GetPid()),
		Time:        at,
		Detail:      detail,
	}
}

// exit tells how a container ended, where the runtime says it: CRI-O 1.34 leaves
// the fields empty, and an exit code of 0 then means nothing.
func exit(c *api.Container) string {
	if c.GetFinishedAt() <= 0 {
		return ""
	}
	text := fmt.Sprintf("exit code %d", c.GetExitCode())
	if reason := c.GetStatusReason(); reason != "" {
		text += ", " + reason
	}
	return text
}
