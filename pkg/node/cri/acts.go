package cri

import (
	"context"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// StopContainer ends a container: TERM, and KILL after the grace, which is
// rounded up to whole seconds; 0 or less kills at once. It returns when the
// record says exited. The context must outlast the grace by some seconds:
// CRI-O needs about 4 s for a container whose exit it missed, and then records
// exit code -1 and the time of this stop. Stopping what has exited, or has been
// removed, is no error.
func (c *Client) StopContainer(ctx context.Context, id string, grace time.Duration) error {
	api, err := c.service(ctx)
	if err != nil {
		return err
	}
	seconds := int64((max(grace, 0) + time.Second - 1) / time.Second)
	_, err = api.StopContainer(ctx, &runtimeapi.StopContainerRequest{ContainerId: id, Timeout: seconds})
	if err != nil && !NotFound(err) {
		return c.explain("stop container "+id, err)
	}
	return nil
}

// RemoveContainer deletes a container's record, and ends it first if it still
// runs; CRI-O takes the deadline of the call as the grace for that. Removing
// what is not there is no error.
func (c *Client) RemoveContainer(ctx context.Context, id string) error {
	api, err := c.service(ctx)
	if err != nil {
		return err
	}
	_, err = api.RemoveContainer(ctx, &runtimeapi.RemoveContainerRequest{ContainerId: id})
	if err != nil && !NotFound(err) {
		return c.explain("remove container "+id, err)
	}
	return nil
}

// StopPodSandbox ends all containers of a sandbox and its network. CRI has no
// grace period here: CRI-O takes the deadline of the call as the grace, so the
// context must have one, of the pod's grace and a few seconds more. Too long
// only delays a process that ignores TERM; too short kills it early. The
// records stay. Stopping what is not there is no error.
func (c *Client) StopPodSandbox(ctx context.Context, id string) error {
	api, err := c.service(ctx)
	if err != nil {
		return err
	}
	_, err = api.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: id})
	if err != nil && !NotFound(err) {
		return c.explain("stop sandbox "+id, err)
	}
	return nil
}
