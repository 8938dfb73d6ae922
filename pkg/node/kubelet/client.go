package kubelet

import (
	"context"
	"log/slog"
	"sync"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// Client reads the kubelet's health and its view of its pods. It implements
// [node.KubeletReader] and may be used by several goroutines at once.
type Client struct {
	podsAPI *podsAPI
	pods    *podsEndpoint

	changed sync.Mutex // guards lastSeen
	// lastSeen is the last description that was logged.
	lastSeen string
	log      *slog.Logger
}

var _ node.KubeletReader = (*Client)(nil)

// New returns a client for the kubelet that cfg describes. Nothing is opened
// before the first look, and a wrong setting shows as an error of each look.
// The caller closes the client.
func New(cfg config.Kubelet, log *slog.Logger) *Client {
	return &Client{
		podsAPI: newPodsAPI(cfg.PodsAPISocket),
		pods:    newPodsEndpoint(cfg.PodsURL, cfg.ClientCertificate, cfg.ClientKey, log),
		log:     log,
	}
}

// Kubelet asks for health, where there is an address, and view side by side. It
// returns when both have answered, or soon after ctx has ended.
func (c *Client) Kubelet(ctx context.Context, healthzURL string) node.Kubelet {
	var k node.Kubelet
	var both sync.WaitGroup
	if healthzURL != "" {
		both.Go(func() {
			k.HealthErr = newHealthz(healthzURL).ping(ctx)
			k.Healthy = k.HealthErr == nil
		})
	}
	both.Go(func() { k.View = c.view(ctx) })
	both.Wait()
	c.note(k.View)
	return k
}

// Close ends the connections. A look in flight fails.
func (c *Client) Close() error { return c.podsAPI.close() }

// note logs what can be seen when that has changed, and never each look.
func (c *Client) note(v node.View) {
	seen := Describe(v)
	c.changed.Lock()
	defer c.changed.Unlock()
	if seen == c.lastSeen {
		return
	}
	c.lastSeen = seen
	c.log.Info("view of the kubelet's pods changed", "source", v.Source, "view", seen)
}
