package node

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Container is one record of CRI-O.
type Container struct {
	Name      string
	Attempt   uint32
	State     cri.ContainerState
	ID        string
	SandboxID string
	PodUID    string
	CreatedAt time.Time
	// ExitCode and FinishedAt are for CONTAINER_EXITED.
	ExitCode   int32
	FinishedAt time.Time
	// PID of the container's first process, seen from the box; 0 when CRI-O
	// names none.
	PID int
}

// Running tells whether CRI-O says so.
func (c Container) Running() bool { return c.State == cri.ContainerState_CONTAINER_RUNNING }

// CRI is a client of CRI-O itself, past the fault proxy. It is good for the
// life of the box, also over reboots; Stop closes it.
func (b *Box) CRI(context.Context) (cri.RuntimeServiceClient, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cri == nil {
		dial := func(ctx context.Context, _ string) (net.Conn, error) {
			path, err := b.Path(crioSocket)
			if err != nil {
				return nil, err
			}
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		}
		connection, err := grpc.NewClient("passthrough:///crio", grpc.WithContextDialer(dial),
			grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(16<<20)))
		if err != nil {
			return nil, fmt.Errorf("connect to CRI-O of box %s: %w", b.Name, err)
		}
		b.cri = connection
	}
	return cri.NewRuntimeServiceClient(b.cri), nil
}

// Containers lists the records of a pod by its name, all of them when it is
// "", oldest first, with all that ContainerStatus knows.
func (b *Box) Containers(ctx context.Context, pod string) ([]Container, error) {
	records, err := b.ContainerRecords(ctx, pod)
	if err != nil {
		return nil, err
	}
	var details []Container
	for _, record := range records {
		detail, err := b.Inspect(ctx, record)
		if err != nil {
			// Gone since it was listed.
			if again, listErr := b.ContainerRecords(ctx, pod); listErr == nil && !slices.ContainsFunc(again, func(c Container) bool { return c.ID == record.ID }) {
				continue
			}
			return nil, err
		}
		details = append(details, detail)
	}
	return details, nil
}

// ContainerRecords is Containers without ExitCode, FinishedAt and PID, in one
// call to CRI-O: for a container that lost its monitor CRI-O takes seconds to
// tell those.
func (b *Box) ContainerRecords(ctx context.Context, pod string) ([]Container, error) {
	runtime, err := b.CRI(ctx)
	if err != nil {
		return nil, err
	}
	filter := &cri.ContainerFilter{}
	if pod != "" {
		filter.LabelSelector = map[string]string{"io.kubernetes.pod.name": pod}
	}
	response, err := runtime.ListContainers(ctx, &cri.ListContainersRequest{Filter: filter})
	if err != nil {
		return nil, fmt.Errorf("list containers of box %s: %w", b.Name, err)
	}
	var records []Container
	for _, container := range response.Containers {
		records = append(records, Container{
			Name: container.Metadata.GetName(), Attempt: container.Metadata.GetAttempt(), State: container.State,
			ID: container.Id, SandboxID: container.PodSandboxId, PodUID: container.Labels["io.kubernetes.pod.uid"],
			CreatedAt: time.Unix(0, container.CreatedAt),
		})
	}
	slices.SortFunc(records, func(a, b Container) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return records, nil
}

// Inspect completes a record by its status.
func (b *Box) Inspect(ctx context.Context, record Container) (Container, error) {
	runtime, err := b.CRI(ctx)
	if err != nil {
		return record, err
	}
	response, err := runtime.ContainerStatus(ctx, &cri.ContainerStatusRequest{ContainerId: record.ID, Verbose: true})
	if err != nil {
		return record, fmt.Errorf("status of container %s: %w", record.ID, err)
	}
	record.State = response.Status.State
	if record.State == cri.ContainerState_CONTAINER_EXITED {
		record.ExitCode = response.Status.ExitCode
		record.FinishedAt = time.Unix(0, response.Status.FinishedAt)
	}
	var info struct {
		PID int `json:"pid"`
	}
	if err := json.NewDecoder(strings.NewReader(response.Info["info"])).Decode(&info); err == nil {
		record.PID = info.PID
	}
	return record, nil
}

// RunningContainer finds the running container of that name in a pod.
func (b *Box) RunningContainer(ctx context.Context, pod, name string) (Container, error) {
	records, err := b.ContainerRecords(ctx, pod)
	if err != nil {
		return Container{}, err
	}
	for _, record := range records {
		if record.Name == name && record.Running() {
			return b.Inspect(ctx, record)
		}
	}
	return Container{}, fmt.Errorf("pod %s of box %s has no running container %s", pod, b.Name, name)
}
