package node

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// StartSecond makes and starts another attempt of a container in its sandbox, by
// hand, with all that the kubelet knows its own by. It returns the new record.
func (b *Box) StartSecond(ctx context.Context, containerID string) (Container, error) {
	runtime, err := b.CRI(ctx)
	if err != nil {
		return Container{}, err
	}
	// The record has the sandbox, and the status the rest.
	listed, err := runtime.ListContainers(ctx, &cri.ListContainersRequest{Filter: &cri.ContainerFilter{Id: containerID}})
	if err != nil || len(listed.Containers) != 1 {
		return Container{}, fmt.Errorf("find container %s: %d records, %w", containerID, len(listed.GetContainers()), err)
	}
	sandbox := listed.Containers[0].PodSandboxId
	answer, err := runtime.ContainerStatus(ctx, &cri.ContainerStatusRequest{ContainerId: containerID})
	if err != nil {
		return Container{}, fmt.Errorf("status of container %s: %w", containerID, err)
	}
	pod, err := runtime.PodSandboxStatus(ctx, &cri.PodSandboxStatusRequest{PodSandboxId: sandbox})
	if err != nil {
		return Container{}, fmt.Errorf("status of sandbox %s: %w", sandbox, err)
	}
	made, err := runtime.CreateContainer(ctx, &cri.CreateContainerRequest{
		PodSandboxId: sandbox, Config: nextAttempt(answer.Status, pod.Status),
		SandboxConfig: &cri.PodSandboxConfig{
			Metadata: pod.Status.Metadata, Labels: pod.Status.Labels, Annotations: pod.Status.Annotations,
			LogDirectory: filepath.Dir(filepath.Dir(answer.Status.LogPath)), Linux: &cri.LinuxPodSandboxConfig{},
		},
	})
	if err != nil {
		return Container{}, fmt.Errorf("create another attempt of container %s: %w", containerID, err)
	}
	if _, err := runtime.StartContainer(ctx, &cri.StartContainerRequest{ContainerId: made.ContainerId}); err != nil {
		return Container{}, fmt.Errorf("start another attempt of container %s: %w", containerID, err)
	}
	records, err := b.ContainerRecords(ctx, "")
	if err != nil {
		return Container{}, err
	}
	for _, record := range records {
		if record.ID == made.ContainerId {
			return b.Inspect(ctx, record)
		}
	}
	return Container{}, fmt.Errorf("container %s is gone at once", made.ContainerId)
}

// nextAttempt is the configuration of the attempt after one with this status.
func nextAttempt(status *cri.ContainerStatus, pod *cri.PodSandboxStatus) *cri.ContainerConfig {
	attempt := status.Metadata.Attempt + 1
	annotations := maps.Clone(status.Annotations)
	annotations["io.kubernetes.container.restartCount"] = strconv.Itoa(int(attempt))
	var mounts []*cri.Mount
	for _, mount := range status.Mounts {
		mounts = append(mounts, &cri.Mount{ContainerPath: mount.ContainerPath, HostPath: mount.HostPath, Readonly: mount.Readonly, Propagation: mount.Propagation})
	}
	return &cri.ContainerConfig{
		Metadata: &cri.ContainerMetadata{Name: status.Metadata.Name, Attempt: attempt},
		Image: &cri.ImageSpec{Image: status.ImageRef,
			UserSpecifiedImage: cmp.Or(status.Image.GetUserSpecifiedImage(), status.Image.GetImage())},
		Labels: status.Labels, Annotations: annotations, Mounts: mounts,
		LogPath: fmt.Sprintf("%s/%d.log", status.Metadata.Name, attempt),
		Linux: &cri.LinuxContainerConfig{SecurityContext: &cri.LinuxContainerSecurityContext{
			NamespaceOptions: pod.Linux.GetNamespaces().GetOptions(),
		}},
	}
}
