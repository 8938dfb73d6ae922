// Package restartpolicy decides whether a static pod's container that is down
// has been forgotten, and what the least destructive step is that would bring
// it back.
//
//	Judge(policy, snapshot, history)  -> verdicts, history   what is wrong, since when, until when to wait
//	Plan(policy, snapshot, verdicts, ledger) -> decision     which one step is due now, or what blocks it
//
// Everything here is pure: no I/O, no goroutines, no wall clock, no
// package-level state. Time is the boot clock of the Snapshot. The same
// arguments always give the same answer, so every timing rule is tested in
// simulated time.
//
// Where to look for a decision:
//
//	rules.go      would the kubelet restart this container at all?
//	backoff.go    how long may the kubelet wait before it does?
//	initphase.go  have the init containers done their part?
//	diagnose*.go  what is wrong with a pod, from one snapshot (indexed by survey.go)
//	judge.go      since when, until when (deadlines), seen how often (history.go)
//	guards.go     what forbids every act just now
//	ladder.go     which steps cure what, in which order
//	plan.go       the one step that is due
//	gate.go       would that step do harm just now?
//	budget.go     has it been taken too often (ledger.go)?
//	review.go     what came of the steps that were taken
package restartpolicy
