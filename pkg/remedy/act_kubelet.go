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
	// kubeletStop is how long the kubelet may take to end before SIGKILL; a
	// working one takes 0.1 s.
	kubeletStop = 30 * time.Second
	// blindSettle is how old the new process must be where no view of the
	// kubelet's pods is to be had: longer than the restart time of its unit,
	// so that one that dies again and again does not count as up.
	blindSettle = 20 * time.Second
)

// restartKubelet restarts the kubelet and waits until a new process shows that
// it looks after pods. Its health check cannot say so: it is a ping, and also
// answers while the start-up is blocked.
func (e *Executor) restartKubelet(ctx context.Context, step restartpolicy.Step, before *node.Snapshot) (string, error) {
	began := time.Now()
	call, cancel := begun(ctx, step.Timeout)
	defer cancel()
	if len(e.RestartCommand) > 0 {
		if out, err := run(call, e.RestartCommand, commandOutput); err != nil {
			return "", fmt.Errorf("run %s: %w: %s", e.RestartCommand[0], err, oneLine(string(out)))
		}
	} else {
		unitOf := func(s *node.Snapshot) node.Unit { return s.Kubelet.Unit }
		if err := e.restartUnit(call, before.Kubelet.Unit, e.KubeletUnit, min(kubeletStop, step.Timeout/2), unitOf); err != nil {
			return "", err
		}
	}
	restarted := time.Now()
	last, err := e.await(ctx, step.Timeout-time.Since(began), func(s *node.Snapshot) bool {
		return e.kubeletRenewed(before, s) && kubeletWorks(s, time.Since(restarted))
	})
	switch {
	case err == nil:
		return fmt.Sprintf("the kubelet looks after pods again, as process %d", last.Kubelet.Unit.MainPID), nil
	case errors.Is(err, context.Canceled):
		return "restarted; the agent stops before the effect is known", nil
	}
	return "", e.kubeletTrouble(step, before, last)
}

// kubeletRenewed tells that the kubelet's process is a new one that runs.
// Where no service manager is to be asked, the command's success stands for it.
func (e *Executor) kubeletRenewed(before, now *node.Snapshot) bool {
	if len(e.RestartCommand) > 0 && now.Kubelet.Unit.Err != nil {
		return true
	}
	return renewed(before.Kubelet.Unit, now.Kubelet.Unit) && now.Kubelet.Unit.Up()
}

// kubeletWorks tells that the kubelet has taken up its pods. Sources that are
// not ready are no fault: so it is while the API server is down. A view that is
// empty beside manifests means that the start-up is blocked.
func kubeletWorks(s *node.Snapshot, age time.Duration) bool {
	v := s.Kubelet.View
	switch {
	case s.Intent.Err == nil && len(s.Intent.Pods) == 0:
		return v.Known() || v.SourcesNotReady || s.Kubelet.Healthy
	case v.Known():
		return len(v.Pods) > 0
	case v.SourcesNotReady:
		return true
	}
	return (s.Kubelet.Healthy || v.Answered) && age >= blindSettle
}

func (e *Executor) kubeletTrouble(step restartpolicy.Step, before, last *node.Snapshot) error {
	u, v := last.Kubelet.Unit, last.Kubelet.View
	switch {
	case u.ProcessState == "D" && u.MainPID == before.Kubelet.Unit.MainPID:
		return uninterruptible("kubelet", u)
	case renewed(before.Kubelet.Unit, u) && !u.Up() && u.ActiveState == "active":
		return fmt.Errorf("restart %s: its new process %d is in state %s", e.KubeletUnit, u.MainPID, u.ProcessState)
	case !e.kubeletRenewed(before, last) && u.ActiveState == "active":
		return fmt.Errorf("restart %s: process %d is still the old one after %s", e.KubeletUnit, u.MainPID, step.Timeout)
	case !e.kubeletRenewed(before, last):
		return fmt.Errorf("restart %s: it does not come up within %s (%s/%s, %s)", e.KubeletUnit, step.Timeout, u.ActiveState, u.SubState, u.Result)
	case v.Known():
		return fmt.Errorf("restart %s: it runs and knows no pod after %s: its start-up is blocked, look for a hung runtime call", e.KubeletUnit, step.Timeout)
	case v.Err != nil:
		return fmt.Errorf("restart %s: no view of its pods within %s: %w", e.KubeletUnit, step.Timeout, v.Err)
	}
	return fmt.Errorf("restart %s: no view of its pods within %s", e.KubeletUnit, step.Timeout)
}
