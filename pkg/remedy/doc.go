// Package remedy carries out one step of the restart guarantee: it looks
// again, has the step confirmed, saves the evidence, acts, and checks what came
// of it.
//
//	look -> confirm -> evidence -> (look -> confirm) -> act -> look -> outcome
//
// It decides nothing: whether a step is to be taken is pkg/restartpolicy's
// business, also here. It never lets a step outlast its bound by more than a few
// seconds.
//
// Where to look:
//
//	executor.go            the order of things
//	evidence*.go           what is saved before an act, and for how long
//	act_*.go               the acts
//	replace.go, restore.go the manifest out and in again, and its repair
package remedy
