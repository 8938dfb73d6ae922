package agent

import (
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// Listener hears what the agent publishes. The loop calls its methods: they
// must not block, and must not change what they are handed.
type Listener interface {
	// Published is told the status of each look, and again around an act.
	Published(s *status.Status)
	// Acted is told each act with its result: when it has ended, and once more
	// when its effect is known.
	Acted(act restartpolicy.Act)
}

// Tell adds a listener, before Run.
func (a *Agent) Tell(l Listener) { a.changes.listeners = append(a.changes.listeners, l) }
