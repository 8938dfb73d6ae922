package critest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"strconv"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// Sandbox is one sandbox record.
type Sandbox struct {
	ID, Namespace, Name, UID string
	Attempt                  uint32
	// NotReady is for a sandbox that has been stopped.
	NotReady bool
	// Source is the config source: "file", "http", "api"; empty for none.
	Source    string
	CreatedAt time.Time
	// PID is the sandbox's own process; 0 for a sandbox without one.
	PID int
	// Labels and Annotations are added to those that the kubelet writes.
	Labels, Annotations map[string]string
}

// Container is one container record.
type Container struct {
	ID, SandboxID, Name string
	Attempt             uint32
	// State is running if empty.
	State                            node.ContainerState
	CreatedAt, StartedAt, FinishedAt time.Time
	// FinishedNano overrides FinishedAt, for times that no time.Time gives.
	FinishedNano int64
	ExitCode     int32
	Reason       string
	LogPath      string
	// PID is the init process; 0 is not told.
	PID int
	// Image is the name by which the kubelet asked; empty for a runtime that
	// does not keep it.
	Image string
	// Grace is the annotation in seconds; negative for no annotation.
	Grace int
	// Annotations are added to those that the kubelet writes.
	Annotations map[string]string
}

// ID makes a container ID as runtimes do, 64 hexadecimal digits, from a name.
func ID(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}

// AddSandbox adds or replaces a sandbox.
func (s *Server) AddSandbox(r Sandbox) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sandboxes[r.ID] = &r
}

// AddContainer adds or replaces a container.
func (s *Server) AddContainer(r Container) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.State == "" {
		r.State = node.ContainerRunning
	}
	s.containers[r.ID] = &r
}

// Update changes a container in place; it must be there.
func (s *Server) Update(id string, change func(*Container)) {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.containers[id]
	if !ok {
		s.tb.Errorf("no container %s to update", id)
		return
	}
	change(r)
}

// Forget drops a sandbox or container, as if it had been removed.
func (s *Server) Forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.containers, id)
	delete(s.sandboxes, id)
}

// Sandbox returns a copy of a record.
func (s *Server) Sandbox(id string) (Sandbox, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.sandboxes[id]; ok {
		return *r, true
	}
	return Sandbox{}, false
}

// Container returns a copy of a record.
func (s *Server) Container(id string) (Container, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.containers[id]; ok {
		return *r, true
	}
	return Container{}, false
}

// exit is what becomes of a container that is stopped.
func (r *Container) exit(now time.Time) {
	if r.State == node.ContainerRunning || r.State == node.ContainerCreated {
		r.State, r.FinishedAt, r.ExitCode, r.Reason, r.PID = node.ContainerExited, now, 137, "Error", 0
	}
}

func (r *Sandbox) message() *runtimeapi.PodSandbox {
	labels := map[string]string{
		"io.kubernetes.pod.name":      r.Name,
		"io.kubernetes.pod.namespace": r.Namespace,
		"io.kubernetes.pod.uid":       r.UID,
	}
	maps.Copy(labels, r.Labels)
	annotations := map[string]string{}
	if r.Source != "" {
		annotations["kubernetes.io/config.source"] = r.Source
	}
	maps.Copy(annotations, r.Annotations)
	state := runtimeapi.PodSandboxState_SANDBOX_READY
	if r.NotReady {
		state = runtimeapi.PodSandboxState_SANDBOX_NOTREADY
	}
	return &runtimeapi.PodSandbox{
		Id:          r.ID,
		Metadata:    &runtimeapi.PodSandboxMetadata{Name: r.Name, Uid: r.UID, Namespace: r.Namespace, Attempt: r.Attempt},
		State:       state,
		CreatedAt:   nano(r.CreatedAt),
		Labels:      labels,
		Annotations: annotations,
	}
}

func (r *Sandbox) status(verbose bool) *runtimeapi.PodSandboxStatusResponse {
	m := r.message()
	answer := &runtimeapi.PodSandboxStatusResponse{Status: &runtimeapi.PodSandboxStatus{
		Id: m.Id, Metadata: m.Metadata, State: m.State, CreatedAt: m.CreatedAt, Labels: m.Labels, Annotations: m.Annotations,
	}}
	if verbose {
		process := ""
		if r.PID > 0 {
			process = fmt.Sprintf(`"image":"pause","pid":%d,`, r.PID)
		}
		answer.Info = map[string]string{"info": `{` + process + `"runtimeSpec":{"ociVersion":"1.2.1"}}`}
	}
	return answer
}

func (r *Container) message() *runtimeapi.Container {
	annotations := map[string]string{
		"io.kubernetes.container.hash":         "5f3a",
		"io.kubernetes.container.restartCount": strconv.Itoa(int(r.Attempt)),
	}
	if r.Grace >= 0 {
		annotations["io.kubernetes.pod.terminationGracePeriod"] = strconv.Itoa(r.Grace)
	}
	maps.Copy(annotations, r.Annotations)
	var image *runtimeapi.ImageSpec
	if r.Image != "" {
		image = &runtimeapi.ImageSpec{Image: ID(r.Image), UserSpecifiedImage: r.Image}
	}
	return &runtimeapi.Container{
		Id:           r.ID,
		PodSandboxId: r.SandboxID,
		Metadata:     &runtimeapi.ContainerMetadata{Name: r.Name, Attempt: r.Attempt},
		Image:        image,
		State:        r.state(),
		CreatedAt:    nano(r.CreatedAt),
		Labels:       map[string]string{"io.kubernetes.container.name": r.Name},
		Annotations:  annotations,
	}
}

func (r *Container) status(verbose bool) *runtimeapi.ContainerStatusResponse {
	answer := &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{
		Id:         r.ID,
		Metadata:   &runtimeapi.ContainerMetadata{Name: r.Name, Attempt: r.Attempt},
		State:      r.state(),
		CreatedAt:  nano(r.CreatedAt),
		StartedAt:  nano(r.StartedAt),
		FinishedAt: nano(r.FinishedAt),
		ExitCode:   r.ExitCode,
		Reason:     r.Reason,
		LogPath:    r.LogPath,
	}}
	if r.FinishedNano != 0 {
		answer.Status.FinishedAt = r.FinishedNano
	}
	if verbose {
		answer.Info = map[string]string{
			"info": fmt.Sprintf(`{"sandboxID":%q,"pid":%d,"runtimeSpec":{"ociVersion":"1.2.1"},"privileged":false}`, r.SandboxID, r.PID),
		}
	}
	return answer
}

func (r *Container) state() runtimeapi.ContainerState {
	switch r.State {
	case node.ContainerCreated:
		return runtimeapi.ContainerState_CONTAINER_CREATED
	case node.ContainerRunning:
		return runtimeapi.ContainerState_CONTAINER_RUNNING
	case node.ContainerExited:
		return runtimeapi.ContainerState_CONTAINER_EXITED
	}
	return runtimeapi.ContainerState_CONTAINER_UNKNOWN
}

func nano(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}
