package report

import (
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/timeline"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// Sources are what a report is made of. Any of them may be missing.
type Sources struct {
	// Node is the node's name where neither status nor records tell it.
	Node string
	// Version is that of the program that makes the page.
	Version string
	// Status is nil where no agent has written one. Stale says that it should
	// have written another by now.
	Status *status.Status
	Stale  bool
	// Acts are in the order in which they began.
	Acts     []restartpolicy.Act
	Records  *record.Index
	Timeline timeline.History
	// Tail reads the end of the log of a record: [TailBytes] are enough. It is
	// called for those that are shown; nil for no logs.
	Tail func(e *record.Entry) (string, error)
	// Notes are lines about what could not be read.
	Notes []string
}
