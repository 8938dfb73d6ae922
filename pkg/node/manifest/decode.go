package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// decode parses one manifest as the kubelet does: data that begins with "{" is
// JSON, all else is YAML, of which only the first document counts. Field names
// are case-sensitive, unknown fields are ignored, and of a repeated field the
// last one stands. The only kind is a v1 Pod; a PodList is refused (the kubelet
// accepts that from a URL, not from a file). With an error, the pod may be there
// in part, which is enough to name it.
//
// Mirrors kubelet pkg/kubelet/config/common.go tryDecodeSinglePod, v1.37,
// without the scheme: its registry of all API types would cost the agent more
// memory than everything else in it.
func decode(data []byte) (*corev1.Pod, error) {
	document, err := utilyaml.ToJSON(data)
	if err != nil {
		return nil, fmt.Errorf("not YAML: %w", err)
	}
	if err := checkKind(document); err != nil {
		return nil, err
	}
	pod := &corev1.Pod{}
	if err := utiljson.Unmarshal(document, pod); err != nil {
		return pod, fmt.Errorf("not a v1 Pod: %w", err)
	}
	return pod, nil
}

// checkKind refuses what is not a v1 Pod. Mirrors apimachinery
// pkg/runtime/serializer/json SimpleMetaFactory.Interpret, v0.37.
func checkKind(document []byte) error {
	var found struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if len(document) == 0 || bytes.Equal(document, []byte("null")) {
		return errors.New("the file holds nothing (only its first YAML document is read)")
	}
	if err := json.Unmarshal(document, &found); err != nil {
		return fmt.Errorf("not an object with apiVersion and kind: %w", err)
	}
	version, err := schema.ParseGroupVersion(found.APIVersion)
	if err != nil {
		return fmt.Errorf("apiVersion: %w", err)
	}
	if version != corev1.SchemeGroupVersion || found.Kind != "Pod" {
		return fmt.Errorf("apiVersion %q, kind %q: only apiVersion v1, kind Pod is read from a file", found.APIVersion, found.Kind)
	}
	return nil
}
