package remedy

import (
	"context"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// await looks again until content is true of what it sees. It returns the last
// look and the reason why it stopped before: the bound, or the end of ctx.
func (e *Executor) await(ctx context.Context, bound time.Duration, content func(*node.Snapshot) bool) (*node.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	tick := time.NewTicker(e.pause)
	defer tick.Stop()
	for {
		s := e.Look(ctx)
		if content(s) {
			return s, nil
		}
		select {
		case <-ctx.Done():
			return s, ctx.Err()
		case <-tick.C:
		}
	}
}

// begun is the context of a call that has to run to its end once it has been
// sent: it is bounded, and a stop of the agent does not cut it in half.
func begun(ctx context.Context, bound time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), bound)
}
