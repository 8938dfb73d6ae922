package remedy

import (
	"fmt"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// kubeletStartUp is how long a kubelet is in its own start-up.
const kubeletStartUp = 60 * time.Second

// KubeletGate says in one line why a restart of the kubelet would do harm just
// now, or "". A kubelet that starts while a create or start hangs looks after
// no pod of the node, and says that it is healthy.
func KubeletGate(policy config.Restart, s *node.Snapshot, state restartpolicy.State) string {
	if s.Runtime.Err != nil {
		return "the runtime does not answer"
	}
	for _, call := range s.Runtime.Calls {
		if startCall(call) && call.Age > policy.Deadlines.HungCall.Duration {
			return fmt.Sprintf("runtime call %s (process %d) has been running for %s", call.Verb, call.PID, call.Age.Round(time.Second))
		}
	}
	for _, sb := range s.Runtime.Sandboxes {
		for _, c := range sb.Containers {
			if c.State == node.ContainerCreated && state != restartpolicy.Husk &&
				s.Taken.Wall.Sub(c.CreatedAt) > policy.Deadlines.HungCall.Duration {
				return fmt.Sprintf("container %s of %s is created and not started", c.Name, sb.Pod)
			}
		}
	}
	u := s.Kubelet.Unit
	if age := s.Taken.Boot - u.ProcessStarted; state != restartpolicy.KubeletDown && u.ProcessStarted > 0 && age < kubeletStartUp {
		return fmt.Sprintf("the kubelet has only been up for %s", age.Round(time.Second))
	}
	return ""
}

// RuntimeGate says in one line why a restart of the runtime would do harm, or
// "": where the monitors live in its unit's cgroup, systemd ends them together
// with it, and all containers of the node with them.
func RuntimeGate(s *node.Snapshot) string {
	mode := s.Runtime.Unit.KillMode
	return when(s.Runtime.MonitorsInUnit && mode != "process" && mode != "none",
		"container monitors live in the runtime's unit (KillMode "+mode+"): a restart would end every container")
}

func startCall(c node.RuntimeCall) bool {
	return c.Verb == "create" || c.Verb == "start" || c.Verb == "run"
}
