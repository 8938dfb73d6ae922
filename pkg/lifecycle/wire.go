package lifecycle

import (
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/lifecycle/lifecyclev1"
)

var kinds = map[Kind]lifecyclev1.Kind{
	Created: lifecyclev1.Kind_KIND_CREATED,
	Started: lifecyclev1.Kind_KIND_STARTED,
	Stopped: lifecyclev1.Kind_KIND_STOPPED,
	Removed: lifecyclev1.Kind_KIND_REMOVED,
}

// ToWire is the event as the service has it. A kind that it does not have
// becomes unspecified.
func ToWire(e Event) *lifecyclev1.Event {
	w := &lifecyclev1.Event{
		Kind:        kinds[e.Kind],
		Source:      string(e.Source),
		ContainerId: e.ContainerID,
		SandboxId:   e.SandboxID,
		Namespace:   e.Namespace,
		Pod:         e.Pod,
		PodUid:      e.PodUID,
		Container:   e.Container,
		Attempt:     e.Attempt,
		LogPath:     e.LogPath,
		Bundle:      e.Bundle,
		BootId:      e.BootID,
		Pid:         int64(e.Pid),
		Detail:      e.Detail,
	}
	if !e.Time.IsZero() {
		w.TimeUnixNano = e.Time.UnixNano()
	}
	return w
}

// FromWire is the reverse of ToWire. It is false for an event that says
// nothing: without a container, or of a kind that is not known here.
func FromWire(w *lifecyclev1.Event) (Event, bool) {
	e := Event{
		Source:      Source(w.GetSource()),
		ContainerID: w.GetContainerId(),
		SandboxID:   w.GetSandboxId(),
		Namespace:   w.GetNamespace(),
		Pod:         w.GetPod(),
		PodUID:      w.GetPodUid(),
		Container:   w.GetContainer(),
		Attempt:     w.GetAttempt(),
		LogPath:     w.GetLogPath(),
		Bundle:      w.GetBundle(),
		BootID:      w.GetBootId(),
		Pid:         int(w.GetPid()),
		Detail:      w.GetDetail(),
	}
	for kind, wire := range kinds {
		if wire == w.GetKind() {
			e.Kind = kind
		}
	}
	if nano := w.GetTimeUnixNano(); nano != 0 {
		e.Time = time.Unix(0, nano)
	}
	return e, e.Kind != "" && e.ContainerID != ""
}
