package remedy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// runtimeStop is what is kept of the step's time for the new process: with
// hung calls inside, the runtime's stop takes systemd's 90 s.
const runtimeStop = 15 * time.Second

// restartRuntime restarts the runtime's unit and waits until CRI answers.
func (e *Executor) restartRuntime(ctx context.Context, step restartpolicy.Step, before *node.Snapshot) (string, error) {
	began := time.Now()
	call, cancel := begun(ctx, step.Timeout)
	defer cancel()
	stop := max(step.Timeout-runtimeStop, step.Timeout/2)
	unitOf := func(s *node.Snapshot) node.Unit { return s.Runtime.Unit }
	if err := e.restartUnit(call, before.Runtime.Unit, e.RuntimeUnit, stop, unitOf); err != nil {
		return "", err
	}
	last, err := e.await(ctx, step.Timeout-time.Since(began), func(s *node.Snapshot) bool {
		return renewed(before.Runtime.Unit, s.Runtime.Unit) && s.Runtime.Err == nil
	})
	switch u := last.Runtime.Unit; {
	case err == nil:
		return fmt.Sprintf("the runtime answers again, as process %d", u.MainPID), nil
	case errors.Is(err, context.Canceled):
		return "restarted; the agent stops before the effect is known", nil
	case u.ProcessState == "D":
		return "", uninterruptible("runtime", u)
	case !renewed(before.Runtime.Unit, u):
		return "", fmt.Errorf("restart %s: no new process within %s (%s/%s)", e.RuntimeUnit, step.Timeout, u.ActiveState, u.SubState)
	}
	return "", fmt.Errorf("restart %s: CRI does not answer within %s: %w", e.RuntimeUnit, step.Timeout, last.Runtime.Err)
}

func uninterruptible(what string, u node.Unit) error {
	return fmt.Errorf("the %s's process %d is in uninterruptible sleep (state D), SIGKILL cannot end it: look for a hung disk or mount, or reboot the node", what, u.MainPID)
}
