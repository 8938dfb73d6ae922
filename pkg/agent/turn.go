package agent

import (
	"context"
	"fmt"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// seen is one look and what was made of it.
type seen struct {
	snap     *node.Snapshot
	verdicts []restartpolicy.Verdict
}

// turn is one turn of the loop. It tells whether the next one should follow at
// once, because something has just been done.
func (a *Agent) turn(ctx context.Context) (again bool) {
	s := a.Node.Look(ctx)
	if ctx.Err() != nil {
		// The look was cut short by ourselves: what did not answer means nothing.
		return false
	}
	a.looks++
	if a.records != nil {
		a.records.Observe(s)
	}
	verdicts, h := restartpolicy.Judge(a.policy, s, a.history)
	a.history = h
	a.changes.trouble("history", a.files.Save(h))
	a.changes.sources(s)
	a.changes.verdicts(s, verdicts)
	a.chronicle.looked(s, a.changes.states, verdicts)
	a.review(s, verdicts)
	a.saveEvidence(ctx, s, verdicts)

	ledger := a.ledger(s)
	step, verdicts := restartpolicy.Plan(a.policy, s, verdicts, ledger)
	a.last = seen{s, verdicts}
	a.Logger.Debug("looked", "looks", a.looks, "verdicts", len(verdicts), "due", step != nil)
	a.publish(nil)
	a.manager.looked(a.summary())

	switch {
	case step == nil:
	case a.policy.DryRun:
		a.announce(*step)
	default:
		again = a.act(ctx, *step, ledger)
	}
	a.manager.turned()
	return again
}

// review enters what became of earlier acts, now that their effect shows.
func (a *Agent) review(s *node.Snapshot, verdicts []restartpolicy.Verdict) {
	for _, act := range restartpolicy.Review(a.policy, s, verdicts, a.journal.Ledger(false)) {
		a.changes.trouble("journal", a.journal.Update(act))
		a.changes.act("act reviewed", act)
	}
}

// summary is the service manager's status line.
func (a *Agent) summary() string {
	pods := map[node.PodName]bool{}
	wrong, overdue := 0, 0
	for _, v := range a.last.verdicts {
		if v.Name != "" {
			pods[v.PodName] = true
		}
		published := a.verdict(v)
		if published.Trouble() {
			wrong++
		}
		if published.Overdue {
			overdue++
		}
	}
	text := fmt.Sprintf("%d pods: ", len(pods))
	switch {
	case overdue > 0:
		text += fmt.Sprintf("%d not well, %d of them past the deadline", wrong, overdue)
	case wrong > 0:
		text += fmt.Sprintf("%d not well", wrong)
	default:
		text += "all well"
	}
	if a.policy.DryRun {
		text += "; dry run"
	}
	if a.last.snap.Host.Paused != "" {
		text += "; paused"
	}
	if a.withheld != "" {
		text += "; no acts: see nodekeeper status"
	}
	return text
}
