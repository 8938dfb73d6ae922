package agent

import (
	"fmt"
	"slices"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// Guards that the agent adds to those of the policy.
const (
	guardJournalLost = "journal-lost"
	guardRefused     = "refused"
)

const withheldUnwritable = "the journal cannot be written: "

// maxRefusalWait bounds the wait after a refusal.
const maxRefusalWait = 5 * time.Minute

// refusal is the memory of acts that were refused for one key. Without it, a
// refusal that lasts would be repeated, and entered in the journal, at each
// look: refused acts count against no budget.
type refusal struct {
	times int
	until time.Duration
}

// refused notes the result of an act.
func (a *Agent) refused(act restartpolicy.Act) {
	if act.Result != restartpolicy.ResultRefused {
		delete(a.refusals, act.Key)
		return
	}
	r := a.refusals[act.Key]
	wait := a.Config.Interval.Duration << min(r.times, 10)
	a.refusals[act.Key] = refusal{r.times + 1, act.Finished.Boot + min(wait, maxRefusalWait)}
}

// withhold adds the agent's own guards to the verdicts that would lead to an
// act. The argument is not changed.
func (a *Agent) withhold(s *node.Snapshot, verdicts []restartpolicy.Verdict) []restartpolicy.Verdict {
	a.withheld = ""
	if left := a.journalLost(s); left > 0 {
		a.withheld = fmt.Sprintf("the journal was lost: what was done before is not known, so no act for another %s",
			left.Round(time.Second))
	}
	held := a.withheld != ""
	if a.unwritable != "" && !held {
		// No guard: each act that is due tries anew.
		a.withheld = withheldUnwritable + a.unwritable
	}
	out := slices.Clone(verdicts)
	refusals := map[restartpolicy.Key]refusal{}
	for i := range out {
		v := &out[i]
		if len(v.Ladder) == 0 {
			continue
		}
		if held {
			v.Guards = append(slices.Clone(v.Guards), guardJournalLost)
		}
		if r, ok := a.refusals[v.Key]; ok {
			refusals[v.Key] = r
			if s.Taken.Boot < r.until {
				v.Guards = append(slices.Clone(v.Guards), guardRefused)
			}
		}
	}
	a.refusals = refusals
	return out
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
// an hour, can hold back an act any more.
func longestGap(p config.Restart) time.Duration {
	longest := time.Hour
	for _, s := range []config.Step{
		p.Steps.StopContainer, p.Steps.RemoveContainer, p.Steps.StopOldSandbox, p.Steps.RestartKubelet,
		p.Steps.StopSandbox, p.Steps.RestartRuntime, p.Steps.RemoveSandbox, p.Steps.ReplaceManifest,
	} {
		longest = max(longest, s.Gap.Duration, s.GapMax.Duration)
	}
	for _, gap := range p.RejectedGaps {
		longest = max(longest, gap.Duration)
	}
	return longest
}
