package lifecycle

import (
	"context"
	"fmt"
	"net"

	"github.com/containerd/ttrpc"

	"github.com/nodekeeper/nodekeeper/pkg/lifecycle/lifecyclev1"
)

// Report tells the agent that listens at the socket of one event, and returns
// once the agent has taken it. It needs a context with a deadline, which covers
// the connecting too; nothing is sent twice.
func Report(ctx context.Context, socket string, e Event) error {
	// The dialer gives up at once, with EAGAIN, where the backlog is full.
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("report to the agent: %w", err)
	}
	// A write into a full socket does not look at the context.
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			_ = conn.Close()
			return fmt.Errorf("report to the agent: %w", err)
		}
	}
	client := ttrpc.NewClient(conn)
	defer client.Close()
	if _, err := lifecyclev1.NewLifecycleClient(client).Report(ctx, &lifecyclev1.ReportRequest{Event: ToWire(e)}); err != nil {
		return fmt.Errorf("report to the agent at %s: %w", socket, err)
	}
	return nil
}
