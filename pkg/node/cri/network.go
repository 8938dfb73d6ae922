package cri

import (
	"cmp"
	"context"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// networkAge is how long a network that was ready is believed to be.
const networkAge = 10 * time.Second

// network asks anew now and then while the network is ready, and in each look
// while it is not.
func (r *Reader) network(ctx context.Context) (ready node.Answer, detail string) {
	now := r.clock.Now().Boot
	if r.networkAt > 0 && now-r.networkAt < networkAge {
		return node.Yes, ""
	}
	ready, detail, err := r.client.Network(ctx)
	if err != nil {
		r.log.Debug("the runtime did not tell of its network", "error", err)
	}
	r.networkAt = 0
	if ready == node.Yes {
		r.networkAt = now
	}
	return ready, detail
}

// Network asks whether the pod network is ready, and if not, why. A runtime that
// does not say is Unknown.
func (c *Client) Network(ctx context.Context) (ready node.Answer, detail string, err error) {
	api, err := c.service(ctx)
	if err != nil {
		return node.Unknown, "", err
	}
	answer, err := api.Status(ctx, &runtimeapi.StatusRequest{})
	if err != nil {
		return node.Unknown, "", c.explain("ask for the status of the network", err)
	}
	for _, condition := range answer.GetStatus().GetConditions() {
		switch {
		case condition.GetType() != runtimeapi.NetworkReady:
		case condition.GetStatus():
			return node.Yes, "", nil
		default:
			return node.No, cmp.Or(condition.GetMessage(), condition.GetReason()), nil
		}
	}
	return node.Unknown, "", nil
}
