package cri

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// Status is what only a call for one container tells.
type Status struct {
	State node.ContainerState
	// StartedAt and FinishedAt are on the runtime's wall clock of that moment;
	// zero if unset or absurd.
	StartedAt, FinishedAt time.Time
	// ExitCode is -1 where CRI-O could not learn it.
	ExitCode int32
	// Reason is CRI's: "Completed", "Error", "OOMKilled", ...
	Reason  string
	LogPath string
	// PID is the container's init process in the host's PID namespace; 0 if
	// the runtime does not tell.
	PID int
}

// Status asks for one container, verbosely for the sake of the PID. CRI-O
// takes 3.8 s for a record whose exit it missed: it waits for an exit file
// that never comes. NotFound tells that the record has gone.
func (c *Client) Status(ctx context.Context, id string) (Status, error) {
	api, err := c.service(ctx)
	if err != nil {
		return Status{}, err
	}
	answer, err := api.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id, Verbose: true})
	if err != nil {
		return Status{}, c.explain("ask for the status of container "+id, err)
	}
	s := answer.GetStatus()
	return Status{
		State:      containerState(s.GetState()),
		StartedAt:  wallTime(s.GetStartedAt()),
		FinishedAt: wallTime(s.GetFinishedAt()),
		ExitCode:   s.GetExitCode(),
		Reason:     s.GetReason(),
		LogPath:    s.GetLogPath(),
		PID:        infoPID(answer.GetInfo()),
	}, nil
}

// SandboxStatus asks for a sandbox's own process. Its state is running as long as
// the runtime calls the sandbox ready. The PID is 0 where there is no such
// process: CRI-O starts none unless the pod shares one PID namespace
// (drop_infra_ctr; server/sandbox_status.go createSandboxInfo, v1.34).
func (c *Client) SandboxStatus(ctx context.Context, id string) (Status, error) {
	api, err := c.service(ctx)
	if err != nil {
		return Status{}, err
	}
	answer, err := api.PodSandboxStatus(ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: id, Verbose: true})
	if err != nil {
		return Status{}, c.explain("ask for the status of sandbox "+id, err)
	}
	s := Status{State: node.ContainerExited, PID: infoPID(answer.GetInfo())}
	if answer.GetStatus().GetState() == runtimeapi.PodSandboxState_SANDBOX_READY {
		s.State = node.ContainerRunning
	}
	return s, nil
}

// infoPID finds the PID in the verbose part of a status. CRI-O (server/
// container_status.go containerInfo) and containerd (internal/cri/server
// container_status.go, ContainerInfo) both put a JSON object with "pid" under
// the key "info", of a sandbox too; older runtimes had a key "pid" of its own.
func infoPID(info map[string]string) int {
	var object struct {
		PID int `json:"pid"`
	}
	if text, ok := info["info"]; ok && json.Unmarshal([]byte(text), &object) == nil && object.PID > 0 {
		return object.PID
	}
	if pid, err := strconv.Atoi(info["pid"]); err == nil && pid > 0 {
		return pid
	}
	return 0
}

// wallTime turns CRI's nanoseconds into a time. What is not after 1970 is the
// zero time: an unset field is 0, and CRI-O writes Go's zero time, for a
// container whose end it never saw, as a negative number that reads
// 1754-08-30. Times in the future are left as they are: only the caller knows
// whether the clock was set back since.
func wallTime(nanoseconds int64) time.Time {
	if nanoseconds <= 0 {
		return time.Time{}
	}
	return time.Unix(0, nanoseconds)
}

func containerState(state runtimeapi.ContainerState) node.ContainerState {
	switch state {
	case runtimeapi.ContainerState_CONTAINER_CREATED:
		return node.ContainerCreated
	case runtimeapi.ContainerState_CONTAINER_RUNNING:
		return node.ContainerRunning
	case runtimeapi.ContainerState_CONTAINER_EXITED:
		return node.ContainerExited
	}
	return node.ContainerUnknown
}

// String is for evidence: one line.
func (s Status) String() string {
	return fmt.Sprintf("%s pid=%d exit=%d reason=%q started=%s finished=%s",
		s.State, s.PID, s.ExitCode, s.Reason, s.StartedAt.Format(time.RFC3339Nano), s.FinishedAt.Format(time.RFC3339Nano))
}
