package restartpolicy

import (
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// Result is what became of an act.
type Result string

// Results of an act.
const (
	// ResultStarted: announced and not finished; what a crash of the agent in
	// mid-act leaves behind. It counts against the budget.
	ResultStarted Result = "started"
	ResultDone    Result = "done"    // carried out; its effect is not known yet
	ResultHealed  Result = "healed"  // what it was meant to cure is cured
	ResultInVain  Result = "in-vain" // carried out, and the fault is still there
	ResultFailed  Result = "failed"  // the call failed
	ResultRefused Result = "refused" // the facts had changed: nothing was done
	ResultDryRun  Result = "dry-run" // would have been done
)

// Act is one entry of the act journal.
type Act struct {
	ID     string `json:"id"`
	BootID string `json:"bootID"`
	Step
	Began    node.Instant `json:"began"`
	Finished node.Instant `json:"finished"`
	Result   Result       `json:"result"`
	// Detail is one line: the error, or why it was refused.
	Detail string `json:"detail,omitempty"`
	// Evidence is the directory with what was saved beforehand.
	Evidence string `json:"evidence,omitempty"`
	// Record is the crash record of the container that went down, as a
	// directory below the record root.
	Record string `json:"record,omitempty"`
}

// Ledger are the acts that budgets are reckoned from, oldest first. It
// survives restarts of the agent and of the node.
type Ledger struct {
	Acts []Act
	// Withheld says why the acts are not all known, or none could be entered;
	// empty if nothing is in the way.
	Withheld string
}

// age is how long ago an act began. An act of an earlier boot is dated by the
// wall clock and counts as at least as old as the present boot, whatever the
// wall clock did in between.
func (a Act) age(bootID string, now node.Instant) time.Duration {
	if a.BootID == bootID {
		return now.Boot - a.Began.Boot
	}
	return max(now.Wall.Sub(a.Began.Wall), now.Boot)
}
