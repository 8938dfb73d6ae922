package kubelet

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// jsonPod is the part of a v1.Pod in JSON that a view is made of.
type jsonPod struct {
	Metadata struct {
		Namespace         string            `json:"namespace"`
		Name              string            `json:"name"`
		UID               types.UID         `json:"uid"`
		Annotations       map[string]string `json:"annotations"`
		DeletionTimestamp *metav1.Time      `json:"deletionTimestamp"`
	} `json:"metadata"`
	Status struct {
		Phase                 corev1.PodPhase `json:"phase"`
		Reason                string          `json:"reason"`
		Message               string          `json:"message"`
		InitContainerStatuses []jsonStatus    `json:"initContainerStatuses"`
		ContainerStatuses     []jsonStatus    `json:"containerStatuses"`
	} `json:"status"`
}

// jsonStatus is a v1.ContainerStatus without the quantities and mounts.
type jsonStatus struct {
	Name         string                `json:"name"`
	State        corev1.ContainerState `json:"state"`
	LastState    corev1.ContainerState `json:"lastState"`
	Ready        bool                  `json:"ready"`
	RestartCount int32                 `json:"restartCount"`
	Image        string                `json:"image"`
	ImageID      string                `json:"imageID"`
	ContainerID  string                `json:"containerID"`
	Started      *bool                 `json:"started"`
	StopSignal   *corev1.Signal        `json:"stopSignal"`
}

// decodeJSON reads a v1.PodList pod by pod, so that no more than one pod's
// text is held at a time. An answer that ends early, or has no items at all,
// is an error: an empty view would say that the kubelet knows no pod.
func decodeJSON(body io.Reader) ([]node.PodView, error) {
	decoder := json.NewDecoder(body)
	if err := expect(decoder, '{'); err != nil {
		return nil, err
	}
	var views []node.PodView
	found := false
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		if key != "items" {
			var skipped json.RawMessage
			if err := decoder.Decode(&skipped); err != nil {
				return nil, err
			}
			continue
		}
		found = true
		if views, err = decodeItems(decoder); err != nil {
			return nil, err
		}
	}
	if err := expect(decoder, '}'); err != nil {
		return nil, err
	}
	if !found {
		return nil, errors.New("not a list of pods: it has no items")
	}
	return views, nil
}

// decodeItems reads the list's items; the kubelet writes null for none.
func decodeItems(decoder *json.Decoder) ([]node.PodView, error) {
	views := []node.PodView{}
	token, err := decoder.Token()
	if err != nil || token == nil {
		return views, err
	}
	if token != json.Delim('[') {
		return nil, fmt.Errorf("not a list of pods: items is %v", token)
	}
	for n := 1; decoder.More(); n++ {
		var item jsonPod
		if err := decoder.Decode(&item); err != nil {
			return nil, fmt.Errorf("pod %d: %w", n, err)
		}
		pod := item.pod()
		if err := pod.check(); err != nil {
			return nil, fmt.Errorf("pod %d: %w", n, err)
		}
		views = appendView(views, pod)
	}
	return views, expect(decoder, ']')
}

func expect(decoder *json.Decoder, want json.Delim) error {
	token, err := decoder.Token()
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	if token != want {
		return fmt.Errorf("not a list of pods: %v where %v belongs", token, want)
	}
	return nil
}

func (j *jsonPod) pod() *kubeletPod {
	var p kubeletPod
	p.meta.Namespace, p.meta.Name = j.Metadata.Namespace, j.Metadata.Name
	p.meta.UID = j.Metadata.UID
	p.meta.Annotations = j.Metadata.Annotations
	p.meta.DeletionTimestamp = j.Metadata.DeletionTimestamp
	p.status.Phase, p.status.Reason, p.status.Message = j.Status.Phase, j.Status.Reason, j.Status.Message
	p.status.InitContainerStatuses = whole(j.Status.InitContainerStatuses)
	p.status.ContainerStatuses = whole(j.Status.ContainerStatuses)
	return &p
}

func whole(parts []jsonStatus) []corev1.ContainerStatus {
	out := make([]corev1.ContainerStatus, len(parts))
	for i, s := range parts {
		out[i] = corev1.ContainerStatus{
			Name: s.Name, State: s.State, LastTerminationState: s.LastState,
			Ready: s.Ready, RestartCount: s.RestartCount,
			Image: s.Image, ImageID: s.ImageID, ContainerID: s.ContainerID,
			Started: s.Started, StopSignal: s.StopSignal,
		}
	}
	return out
}
