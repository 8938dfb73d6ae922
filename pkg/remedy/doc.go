// Package remedy carries out one step of the restart guarantee: it looks
// again, refuses when anything that the step relies on has changed, saves the
// evidence, acts, and checks what came of it.
//
//	look -> guards -> evidence -> (look -> guards) -> act -> look -> outcome
//
// It decides nothing: which step is due is pkg/restartpolicy's business. It
// never touches a pod that did not come from a manifest on this node, and it
// never lets a step outlast its bound by more than a few seconds.
//
// Where to look:
//
//	guards*.go, gates.go   what refuses a step
//	evidence*.go           what is saved before an act, and for how long
//	act_*.go               the acts
//	replace.go, restore.go the manifest out and in again, and its repair
package remedy
