package nri

import (
	"context"
	"sync"

	"github.com/containerd/nri/pkg/api"
	"github.com/containerd/nri/pkg/stub"

	"github.com/nodekeeper/nodekeeper/pkg/lifecycle"
)

// observer is the plugin: what the runtime calls. The runtime calls it from any
// goroutine, and holds up every container of the node until it has answered.
//
// It is not subscribed to CreateContainer, whose error or time-out can fail a pod:
// PostCreateContainer comes when the container exists and its process does not
// run yet, and on CRI-O the log file is there.
type observer struct {
	source *Source
	// configured is closed when the runtime has said who it is.
	configured chan struct{}
	once       sync.Once
}

var (
	_ stub.ConfigureInterface           = (*observer)(nil)
	_ stub.SynchronizeInterface         = (*observer)(nil)
	_ stub.PostCreateContainerInterface = (*observer)(nil)
	_ stub.PostStartContainerInterface  = (*observer)(nil)
	_ stub.StopContainerInterface       = (*observer)(nil)
	_ stub.RemoveContainerInterface     = (*observer)(nil)
)

// Configure subscribes to all that the observer has a method for.
func (o *observer) Configure(_ context.Context, _, runtime, version string) (stub.EventMask, error) {
	o.source.meet(runtime, version)
	o.once.Do(func() { close(o.configured) })
	return 0, nil
}

// Synchronize takes what exists already. CRI-O lists no stopped containers.
func (o *observer) Synchronize(_ context.Context, pods []*api.PodSandbox, containers []*api.Container) ([]*api.ContainerUpdate, error) {
	const existing = "exists already"
	byID := make(map[string]*api.PodSandbox, len(pods))
	for _, pod := range pods {
		byID[pod.GetId()] = pod
	}
	for _, c := range containers {
		pod := byID[c.GetPodSandboxId()]
		o.source.hear(lifecycle.Created, pod, c, existing)
		switch c.GetState() {
		case api.ContainerState_CONTAINER_RUNNING, api.ContainerState_CONTAINER_PAUSED:
			o.source.hear(lifecycle.Started, pod, c, existing)
		case api.ContainerState_CONTAINER_STOPPED:
			o.source.hear(lifecycle.Stopped, pod, c, existing)
		}
	}
	o.source.join(o)
	return nil, nil
}

func (o *observer) PostCreateContainer(_ context.Context, pod *api.PodSandbox, c *api.Container) error {
	o.source.hear(lifecycle.Created, pod, c, "")
	return nil
}

func (o *observer) PostStartContainer(_ context.Context, pod *api.PodSandbox, c *api.Container) error {
	o.source.hear(lifecycle.Started, pod, c, "")
	return nil
}

// StopContainer comes twice for one stop on CRI-O: from the call and from the
// exit file. cri-o server/container_stop.go and server/server.go handleExit, v1.34.
func (o *observer) StopContainer(_ context.Context, pod *api.PodSandbox, c *api.Container) ([]*api.ContainerUpdate, error) {
	o.source.hear(lifecycle.Stopped, pod, c, exit(c))
	return nil, nil
}

func (o *observer) RemoveContainer(_ context.Context, pod *api.PodSandbox, c *api.Container) error {
	o.source.hear(lifecycle.Removed, pod, c, exit(c))
	return nil
}
