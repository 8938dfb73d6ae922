// Package fault holds the rules by which a box's runtime wrapper and its
// kubelet-to-CRI-O proxy misbehave. Rules are files, so that a test changes
// them while both run:
//
//	/run/box/runtime-faults/<verb>      create, start, kill, state, delete, ...
//	/run/box/cri-faults/<method>        StopContainer, ListContainers, ...
//
// One rule a line, the first that matches is used:
//
//	delay 150s [count N] [match TEXT]
//	hang [count N] [match TEXT]
//	fail [CODE] [count N] [match TEXT]
//
// TEXT is looked for in what the call is about: container ID, container, pod
// and namespace names. Without a count a rule stays until its file is removed.
// The proxy answers a failed call with the gRPC code CODE, else Unavailable;
// the wrapper exits 1 and writes CODE to standard error.
package fault
