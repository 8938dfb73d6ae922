package remedy

import (
	"context"
	"fmt"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// stopSandbox stops a sandbox of an old or of the current generation. The
// step's Timeout is the deadline of the call, and CRI-O gives it to the
// containers as their grace: it ends just as the last container is killed, so
// that a call which ran into its deadline has often done its work.
func (e *Executor) stopSandbox(ctx context.Context, step restartpolicy.Step) (string, error) {
	id := step.Target.SandboxID
	call, cancel := begun(ctx, step.Timeout)
	defer cancel()
	err := e.Runtime.StopPodSandbox(call, id)
	_, waited := e.await(context.WithoutCancel(ctx), verifyBound, func(s *node.Snapshot) bool {
		sb, ok := findSandbox(s, id)
		return s.Runtime.Err == nil && (!ok || !sb.Ready)
	})
	switch {
	case waited == nil:
		return "the sandbox is stopped", nil
	case err != nil:
		return "", err
	}
	return "", fmt.Errorf("stop sandbox %s: the call returned and the sandbox is still ready", short(id))
}

func findSandbox(s *node.Snapshot, id string) (node.Sandbox, bool) {
	for _, sb := range s.Runtime.Sandboxes {
		if sb.ID == id && id != "" {
			return sb, true
		}
	}
	return node.Sandbox{}, false
}

func findContainer(s *node.Snapshot, id string) (node.Container, node.Sandbox, bool) {
	for _, sb := range s.Runtime.Sandboxes {
		for _, c := range sb.Containers {
			if c.ID == id && id != "" {
				return c, sb, true
			}
		}
	}
	return node.Container{}, node.Sandbox{}, false
}

// short is the part of an ID that people recognise.
func short(id string) string { return id[:min(13, len(id))] }
