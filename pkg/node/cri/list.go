package cri

import (
	"context"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// List is all that the runtime has: sandboxes and containers in every state,
// in no particular order. The caller owns it.
type List struct {
	Sandboxes  []*runtimeapi.PodSandbox
	Containers []*runtimeapi.Container
}

// List asks for all sandboxes and all containers: two calls, one after the
// other. A pod created in between shows with neither sandbox nor container, as
// long as the caller drops containers whose sandbox is not in the list.
// CRI-O leaves out what is still being created (server/container_list.go).
func (c *Client) List(ctx context.Context) (List, error) {
	api, err := c.service(ctx)
	if err != nil {
		return List{}, err
	}
	sandboxes, err := api.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		return List{}, c.explain("list sandboxes", err)
	}
	containers, err := api.ListContainers(ctx, &runtimeapi.ListContainersRequest{})
	if err != nil {
		return List{}, c.explain("list containers", err)
	}
	return List{Sandboxes: sandboxes.Items, Containers: containers.Containers}, nil
}
