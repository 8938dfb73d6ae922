package remedy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

const (
	// deadGrace is the grace for a container whose process is gone: nobody is
	// there to use it, and the call only has to make the runtime notice.
	deadGrace = 2 * time.Second
	// verifyBound is how long the effect of a finished call may take to show
	// in the runtime's list.
	verifyBound = 5 * time.Second
)

// stopContainer makes the runtime notice that a process is gone, or ends the
// older of two attempts that run. CRI-O needs
// up to 45 s for it while it waits for an exit file that never comes; what
// counts is the list, not what the call returned.
func (e *Executor) stopContainer(ctx context.Context, step restartpolicy.Step) (string, error) {
	id := step.Target.ContainerID
	call, cancel := begun(ctx, step.Timeout)
	defer cancel()
	grace := min(step.Target.Grace, deadGrace)
	if step.State == restartpolicy.DuplicateRunning {
		grace = step.Target.Grace
	}
	err := e.Runtime.StopContainer(call, id, grace)
	_, waited := e.await(context.WithoutCancel(ctx), verifyBound, func(s *node.Snapshot) bool {
		c, _, ok := findContainer(s, id)
		return s.Runtime.Err == nil && (!ok || c.State != node.ContainerRunning)
	})
	switch {
	case waited == nil && err == nil:
		return "the runtime says that it has ended", nil
	case waited == nil:
		return "the call failed and it has ended all the same: " + oneLine(err.Error()), nil
	case err != nil:
		return "", err
	}
	return "", fmt.Errorf("stop container %s: the call returned and the runtime still says running", short(id))
}

// removeContainer takes a stale record away. Behind one that was created and never
// started the OCI runtime's own process may wait, which does not obey TERM (crun
// 1.8.1): CRI-O's removal would let the call's whole time pass before it kills it.
func (e *Executor) removeContainer(ctx context.Context, step restartpolicy.Step) (string, error) {
	id := step.Target.ContainerID
	call, cancel := begun(ctx, step.Timeout)
	defer cancel()
	var err error
	if step.State == restartpolicy.CreatedNotStarted || step.State == restartpolicy.Leftover {
		err = e.Runtime.StopContainer(call, id, 0)
	}
	err = errors.Join(err, e.Runtime.RemoveContainer(call, id))
	_, waited := e.await(context.WithoutCancel(ctx), verifyBound, func(s *node.Snapshot) bool {
		_, _, ok := findContainer(s, id)
		return s.Runtime.Err == nil && !ok
	})
	switch {
	case waited == nil:
		return "the stale record is gone", nil
	case err != nil:
		return "", err
	}
	return "", fmt.Errorf("remove container %s: the call returned and the record is still there", short(id))
}
