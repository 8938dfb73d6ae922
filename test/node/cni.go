package node

import (
	"context"
	"fmt"
)

// MoveNetworkAway takes all configuration of CNI from CRI-O and starts it anew,
// and with it the kubelet, as it is after a boot until the network's own pods
// run: the network is not ready, and pods without the host's network cannot
// start. CRI-O asks only until the network is ready, so that a loss does not
// show in a CRI-O that goes on (internal/config/cnimgr pollUntilReady, v1.34).
// The undo puts the configuration back, which CRI-O sees by itself.
func (b *Box) MoveNetworkAway(ctx context.Context) (undo func(context.Context) error, err error) {
	dir := crioOf(b.options).cni
	aside := dir + ".aside"
	move := func(ctx context.Context, from, to string) error {
		// The folder stays: CRI-O watches it.
		if _, _, err := b.Exec(ctx, "sh", "-c", `mkdir -p "$1" && mv "$0"/* "$1"/`, from, to); err != nil {
			return fmt.Errorf("move the CNI configuration of box %s: %w", b.Name, err)
		}
		return nil
	}
	if err := move(ctx, dir, aside); err != nil {
		return nil, err
	}
	_, err = b.Systemctl(ctx, "restart", CRIO)
	return func(ctx context.Context) error { return move(ctx, aside, dir) }, err
}
