package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/nodekeeper/nodekeeper/test/node"
)

// ContainerRecords lists the records of a pod by its name, all of them when it
// is "", oldest first, without exit code, end and process.
func (m *Machine) ContainerRecords(ctx context.Context, pod string) ([]node.Container, error) {
	args := []string{"crictl", "ps", "--all", "--output=json"}
	if pod != "" {
		args = append(args, "--label=io.kubernetes.pod.name="+pod)
	}
	stdout, _, err := m.Exec(ctx, args...)
	if err != nil {
		return nil, err
	}
	return parseRecords([]byte(stdout))
}

func parseRecords(listed []byte) ([]node.Container, error) {
	var list struct {
		Containers []struct {
			ID           string `json:"id"`
			PodSandboxID string `json:"podSandboxId"`
			Metadata     struct {
				Name    string `json:"name"`
				Attempt uint32 `json:"attempt"`
			} `json:"metadata"`
			State     string            `json:"state"`
			CreatedAt string            `json:"createdAt"` // nanoseconds, as JSON has 64-bit numbers in protobuf
			Labels    map[string]string `json:"labels"`
		} `json:"containers"`
	}
	if err := json.Unmarshal(listed, &list); err != nil {
		return nil, fmt.Errorf("read crictl's list of containers: %w", err)
	}
	var records []node.Container
	for _, c := range list.Containers {
		created, err := strconv.ParseInt(c.CreatedAt, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read the creation time of container %s: %w", c.ID, err)
		}
		records = append(records, node.Container{
			Name: c.Metadata.Name, Attempt: c.Metadata.Attempt, State: cri.ContainerState(cri.ContainerState_value[c.State]),
			ID: c.ID, SandboxID: c.PodSandboxID, PodUID: c.Labels["io.kubernetes.pod.uid"], CreatedAt: time.Unix(0, created),
		})
	}
	slices.SortStableFunc(records, func(a, b node.Container) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return records, nil
}

// RunningContainer finds the running container of that name in a pod.
func (m *Machine) RunningContainer(ctx context.Context, pod, name string) (node.Container, error) {
	records, err := m.ContainerRecords(ctx, pod)
	if err != nil {
		return node.Container{}, err
	}
	for _, record := range records {
		if record.Name == name && record.Running() {
			return record, nil
		}
	}
	return node.Container{}, fmt.Errorf("pod %s of machine %s has no running container %s", pod, m.Name, name)
}

// KillContainer kills the first process of a container, and so all of them.
func (m *Machine) KillContainer(ctx context.Context, containerID string) error {
	pid, err := m.process(ctx, containerID)
	if err != nil {
		return err
	}
	_, _, err = m.Exec(ctx, "kill", "-KILL", pid)
	return err
}

// KillMonitorAndInit kills a container's conmon and then its first process, so
// that nobody tells CRI-O of its end.
func (m *Machine) KillMonitorAndInit(ctx context.Context, containerID string) error {
	pid, err := m.process(ctx, containerID)
	if err != nil {
		return err
	}
	if _, _, err := m.Exec(ctx, "pkill", "-KILL", "--full", "^/usr/bin/conmon .*-c "+containerID); err != nil {
		return fmt.Errorf("kill the monitor of container %s: %w", containerID, err)
	}
	_, _, err = m.Exec(ctx, "kill", "-KILL", pid)
	return err
}

// Freeze stops all processes of a container by its control group, for good.
func (m *Machine) Freeze(ctx context.Context, containerID string) error {
	pid, err := m.process(ctx, containerID)
	if err != nil {
		return err
	}
	_, _, err = m.Exec(ctx, "sh", "-c", `echo 1 > "/sys/fs/cgroup$(cut -d: -f3 "/proc/$0/cgroup")/cgroup.freeze"`, pid)
	return err
}

// process is the ID of a container's first process.
func (m *Machine) process(ctx context.Context, containerID string) (string, error) {
	stdout, _, err := m.Exec(ctx, "crictl", "inspect", containerID)
	if err != nil {
		return "", err
	}
	var inspected struct {
		Info struct {
			PID int `json:"pid"`
		} `json:"info"`
	}
	if err := json.Unmarshal([]byte(stdout), &inspected); err != nil {
		return "", fmt.Errorf("read crictl's status of container %s: %w", containerID, err)
	}
	if inspected.Info.PID <= 1 {
		return "", fmt.Errorf("container %s of machine %s does not run", containerID, m.Name)
	}
	return strconv.Itoa(inspected.Info.PID), nil
}
