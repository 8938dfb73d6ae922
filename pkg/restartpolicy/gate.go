package restartpolicy

import (
	"fmt"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// kubeletStartUp is how long a kubelet is in its own start-up.
const kubeletStartUp = 60 * time.Second

// Gate says why a step would do harm just now. The zero value means that it
// would not.
type Gate struct {
	// Name is for the status, Detail one line for people.
	Name, Detail string
	// PassOn means that waiting does not help: the next rung is to be tried.
	PassOn bool
}

// Shut tells that the step must not be taken.
func (g Gate) Shut() bool { return g.Name != "" }

// GateFor tells whether a step is safe on this node just now. It is asked when
// a step is planned, and again when it is carried out.
func GateFor(policy config.Restart, s *node.Snapshot, state State, kind StepKind) Gate {
	switch kind {
	case RestartKubelet:
		return kubeletGate(policy, s, state)
	case RestartRuntime:
		return runtimeGate(s)
	case StopSandbox:
		if !s.Kubelet.View.Known() {
			return Gate{Name: "no-view", Detail: "without a working kubelet nobody would restart the siblings", PassOn: true}
		}
	}
	return Gate{}
}

// kubeletGate keeps the kubelet from being restarted while a runtime call
// hangs: a kubelet that starts then asks about every container, waits for the
// one that is busy, looks after no pod of the node, and says that it is healthy.
func kubeletGate(policy config.Restart, s *node.Snapshot, state State) Gate {
	if s.Runtime.Err != nil {
		return Gate{Name: "runtime-does-not-answer", Detail: "the runtime does not answer"}
	}
	dl := policy.Deadlines
	for _, call := range s.Runtime.Calls {
		if call.Verb != "exec" && call.Age > dl.HungCall.Duration {
			return Gate{
				Name:   "runtime-call-in-flight",
				Detail: fmt.Sprintf("runtime call %s (process %d) has been running for %s", call.Verb, call.PID, since(call.Age)),
				PassOn: call.Age > dl.HungStart.Duration,
			}
		}
	}
	for i := range s.Runtime.Sandboxes {
		sb := &s.Runtime.Sandboxes[i]
		for _, c := range sb.Containers {
			age := s.Taken.Wall.Sub(c.CreatedAt)
			if c.State == node.ContainerCreated && state != Husk && age > dl.HungCall.Duration {
				return Gate{
					Name:   "container-created-not-started",
					Detail: fmt.Sprintf("container %s of %s is created and not started", c.Name, sb.Pod),
					PassOn: age > dl.HungStart.Duration,
				}
			}
		}
	}
	u := s.Kubelet.Unit
	if age := s.Taken.Boot - u.ProcessStarted; state != KubeletDown && u.ProcessStarted > 0 && age < kubeletStartUp {
		return Gate{Name: "kubelet-starting", Detail: "the kubelet has only been up for " + since(age)}
	}
	return Gate{}
}

// runtimeGate keeps a runtime from being restarted whose monitors would die
// with its unit, and all containers of the node with them.
func runtimeGate(s *node.Snapshot) Gate {
	mode := s.Runtime.Unit.KillMode
	if s.Runtime.MonitorsInUnit && mode != "process" && mode != "none" {
		return Gate{Name: "monitors-in-runtime-unit", Detail: "container monitors live in the runtime's unit (KillMode " + mode + "): a restart would end every container"}
	}
	return Gate{}
}
