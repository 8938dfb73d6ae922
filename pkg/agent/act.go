package agent

import (
	"context"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/remedy"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// actSlack is what an act may take beyond its own time-out and its looks:
// remedy's time for evidence, and some air.
const actSlack = 30 * time.Second

// act carries out one step between its two lines in the journal. It tells
// whether something may have been done, so that a look should follow at once.
func (a *Agent) act(ctx context.Context, step restartpolicy.Step, ledger restartpolicy.Ledger) (done bool) {
	if ctx.Err() != nil {
		return false
	}
	entry, ok := a.begin(step, restartpolicy.ResultStarted, a.recordOf(ctx, step))
	if !ok {
		return false
	}
	if entry.Record != "" {
		a.records.NameAct(entry.Record, entry.ID)
	}
	bound := step.Timeout + actSlack + 3*a.Config.LookTimeout.Duration
	a.publish(&status.Acting{
		ID: entry.ID, Step: step.Kind, AtMostSeconds: int64(bound / time.Second),
		Namespace: step.Key.Namespace, Pod: step.Key.Name, Container: step.Key.Container,
	})
	a.Logger.Debug("act begins", "id", entry.ID, "step", step.Kind, "key", step.Key.String())

	a.manager.acting(bound)
	stop := context.AfterFunc(ctx, func() { a.manager.stopping(bound) })
	outcome := a.do(ctx, step, ledger)
	stop()
	a.manager.acted()

	entry.Finished = a.Clock.Now()
	entry.Result, entry.Detail, entry.Evidence = outcome.Result, outcome.Detail, outcome.Evidence
	a.changes.trouble("journal", a.journal.Update(entry))
	a.changes.act("act", entry)
	a.publish(nil)
	return entry.Result != restartpolicy.ResultRefused
}

// do lets the remedy act, which asks the policy again before it does: with the
// ledger of when the step was planned, in which it is not yet entered. Not so
// where the agent was told to stop while the act was announced.
func (a *Agent) do(ctx context.Context, step restartpolicy.Step, ledger restartpolicy.Ledger) remedy.Outcome {
	if ctx.Err() != nil {
		return remedy.Outcome{Result: restartpolicy.ResultRefused, Detail: restartpolicy.AgentStopping.String()}
	}
	outcome := a.Remedy.Do(ctx, step, func(s *node.Snapshot) []restartpolicy.Inhibitor {
		return restartpolicy.Confirm(a.policy, s, a.history, ledger, step)
	})
	if outcome.Result == "" {
		outcome.Result = restartpolicy.ResultFailed
	}
	return outcome
}

// announce enters an act that would have been taken.
func (a *Agent) announce(step restartpolicy.Step) {
	if entry, ok := a.begin(step, restartpolicy.ResultDryRun, ""); ok {
		a.changes.act("act", entry)
		a.publish(nil)
	}
}

// begin enters an act in the journal. An act that is not on record would not
// count against any budget, so without an entry there is none.
func (a *Agent) begin(step restartpolicy.Step, result restartpolicy.Result, record string) (entry restartpolicy.Act, ok bool) {
	now := a.Clock.Now()
	entry = restartpolicy.Act{BootID: a.last.snap.Host.BootID, Step: step, Began: now, Result: result, Record: record}
	if result == restartpolicy.ResultDryRun {
		entry.Finished = now
	}
	entry, err := a.journal.Begin(entry)
	a.changes.trouble("journal", err)
	a.unwritable = text(err)
	if err != nil {
		a.withheld = withheldUnwritable + a.unwritable
		a.publish(nil)
	}
	return entry, err == nil
}
