package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/nodekeeper/nodekeeper/pkg/lifecycle"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// Annotations that CRI-O (pkg/annotations/internal.go, v1.34) and the kubelet
// (pkg/kubelet/kuberuntime/labels.go, pkg/kubelet/types) put into the state.
// CRI-O puts the sandbox's annotations there, but not the pod's labels.
const (
	crioContainerID = "io.kubernetes.cri-o.ContainerID"
	crioSandboxID   = "io.kubernetes.cri-o.SandboxID"
	crioLogPath     = "io.kubernetes.cri-o.LogPath"
	crioImage       = "io.kubernetes.cri-o.Image"
	crioImageName   = "io.kubernetes.cri-o.ImageName"
	crioImageRef    = "io.kubernetes.cri-o.ImageRef"
	crioMetadata    = "io.kubernetes.cri-o.Metadata"
	crioLabels      = "io.kubernetes.cri-o.Labels"
	crioAnnotations = "io.kubernetes.cri-o.Annotations"
	podName         = "io.kubernetes.pod.name"
	podNamespace    = "io.kubernetes.pod.namespace"
	podUID          = "io.kubernetes.pod.uid"
	containerName   = "io.kubernetes.container.name"
	containerHash   = "io.kubernetes.container.hash"
	restartCount    = "io.kubernetes.container.restartCount"
	configSource    = "kubernetes.io/config.source"
	revision        = "revision"
)

// state is the OCI state of the container that the hook is run for.
type state struct{ specs.State }

// readState takes the state as runc and crun write it, which differ: crun has
// a key that the specification does not, and a version of two numbers; the
// status at createRuntime is creating or created.
func readState(r io.Reader) (*state, error) {
	data, err := slurp(r)
	if err != nil {
		return nil, fmt.Errorf("read the state: %w", err)
	}
	s := new(state)
	// A field of another type is left out; the others are filled in.
	var mistyped *json.UnmarshalTypeError
	if err := json.Unmarshal(data, &s.State); err != nil && !errors.As(err, &mistyped) {
		return nil, fmt.Errorf("the state of %d bytes: %w", len(data), err)
	}
	return s, nil
}

// static tells whether the pod comes from a file or a URL on the node. The
// kubelet sets the annotation itself, over whatever the pod says.
func (s *state) static() bool {
	source := s.Annotations[configSource]
	return source == "file" || source == "http"
}

// event is what the agent is told.
func (s *state) event(now time.Time) (lifecycle.Event, error) {
	id := s.ID
	if !record.IsContainerID(id) {
		id = s.Annotations[crioContainerID]
	}
	if !record.IsContainerID(id) {
		return lifecycle.Event{}, fmt.Errorf("a state without container ID: %q", s.ID)
	}
	return lifecycle.Event{
		Kind:        s.kind(),
		Source:      lifecycle.Hook,
		ContainerID: id,
		SandboxID:   s.Annotations[crioSandboxID],
		Namespace:   s.Annotations[podNamespace],
		Pod:         s.Annotations[podName],
		PodUID:      s.Annotations[podUID],
		Container:   s.Annotations[containerName],
		Attempt:     s.attempt(),
		LogPath:     s.Annotations[crioLogPath],
		Bundle:      s.Bundle,
		BootID:      bootID(),
		Pid:         max(s.Pid, 0),
		Time:        now,
	}, nil
}

func (s *state) kind() lifecycle.Kind {
	switch s.Status {
	case specs.StateStopped:
		return lifecycle.Removed // poststop is run by delete
	case specs.StateRunning:
		return lifecycle.Started
	}
	return lifecycle.Created
}

// attempt is in the kubelet's annotation and in CRI-O's copy of the metadata.
func (s *state) attempt() uint32 {
	if n, err := strconv.ParseUint(s.Annotations[restartCount], 10, 32); err == nil {
		return uint32(n)
	}
	var metadata struct {
		Attempt uint32 `json:"attempt"`
	}
	_ = json.Unmarshal([]byte(s.Annotations[crioMetadata]), &metadata)
	return metadata.Attempt
}

// revision is the pod's annotation, or wherever else CRI-O may come to keep the
// pod's label; where it is missing the agent knows better.
func (s *state) revision() string {
	if r := s.Annotations[revision]; r != "" {
		return r
	}
	for _, key := range []string{crioLabels, crioAnnotations} {
		var values map[string]string
		if json.Unmarshal([]byte(s.Annotations[key]), &values) == nil && values[revision] != "" {
			return values[revision]
		}
	}
	return ""
}

// image is the name that CRI-O found for the image: what the kubelet asks for
// is often an ID already.
func (s *state) image() string {
	if name := s.Annotations[crioImageName]; name != "" {
		return name
	}
	return s.Annotations[crioImage]
}

func bootID() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
