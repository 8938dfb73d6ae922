package agent

import (
	"fmt"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

const withheldUnwritable = "the journal cannot be written: "

// ledger is what the policy reckons budgets from, and why it may be incomplete.
func (a *Agent) ledger(s *node.Snapshot) restartpolicy.Ledger {
	l := a.journal.Ledger(a.policy.DryRun)
	a.withheld = ""
	switch left := a.journalLost(s); {
	case left > 0:
		l.Withheld = fmt.Sprintf("the journal was lost: what was done before is not known, so no act for another %s", left.Round(time.Second))
		a.withheld = l.Withheld
	case a.unwritable != "":
		// It inhibits nothing: each act that is due tries anew.
		a.withheld = withheldUnwritable + a.unwritable
	}
	return l
}

// journalLost is how much longer nothing is done because a journal was lost.
func (a *Agent) journalLost(s *node.Snapshot) time.Duration {
	age, lost := a.journal.Lost(s.Host.BootID, s.Taken)
	if !lost {
		return 0
	}
	return longestGap(a.policy) - age
}

// longestGap is the time after which no gap between two acts, and no bound for
// an hour, can hold back an act any more. The bounds for a day are not waited
// for: a node would be without help for a day.
func longestGap(p config.Restart) time.Duration {
	longest := time.Hour
	for _, kind := range restartpolicy.Steps {
		s := restartpolicy.StepOf(p.Steps, kind)
		longest = max(longest, s.Gap.Duration, s.GapMax.Duration)
	}
	for _, gap := range p.RejectedGaps {
		longest = max(longest, gap.Duration)
	}
	return longest
}
