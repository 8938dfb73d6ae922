// Package restartpolicy decides what is wrong with the static pods of a node,
// what proves it, and what the one step is that would bring back what is down.
//
//	Judge(policy, snapshot, history)         -> verdicts, history   what is wrong, since when, until when to wait, what proves it
//	Plan(policy, snapshot, verdicts, ...)    -> step, verdicts      the one step that is due, or what inhibits each
//	Confirm(policy, fresh snapshot, ...)     -> inhibitors          the same questions again, just before the act
//	Review(policy, snapshot, verdicts, ...)  -> acts                what came of it
//
// Everything here is pure: no I/O, no goroutines, no wall clock, no state of the
// package. Time is the boot clock of the Snapshot. The same arguments always
// give the same answer, so every timing rule is tested in simulated time.
//
// A step is taken when its verdict is due, all claims of its proof hold, and
// nothing inhibits it. What is unknown holds it back.
//
// To change a rule, and where to look for one:
//
//	table.go       verdict, proof, deadline, steps: docs/verdicts.md is made from it
//	claim.go       how each claim of a proof is answered (worker.go: may the kubelet be at work?)
//	inhibitor.go   all that forbids a step, and Confirm
//	pod.go         which generation a manifest stands for; what is wrong with a pod
//	generation.go  old and new revisions, rejected and never started pods
//	container.go   what is wrong with one container
//	service.go     what is wrong with the kubelet and the runtime themselves
//	rules.go       would the kubelet restart this container at all? (backoff.go: when?)
//	history.go     what is remembered between looks, and lived time
//	plan.go        the step that is due (budget.go: how often; cost.go: at what cost)
//	review.go      what came of the steps that were taken
package restartpolicy
