//go:build world

// Package world is a node in simulated time, for tests of package restartpolicy
// and of nothing else: a kubelet, CRI-O, systemd, static pods, admins, and an
// agent that looks at them and carries out its steps with their true effects.
//
// It is written from what kubelets 1.30 to 1.37 and CRI-O do, and from what was
// measured on real ones; it shares no rule and no constant with the code under
// test, whose exported API is all that it uses. A rule that mirrors another
// program names file and function.
//
//	sim.go       time, tasks, and random numbers that belong to one thing
//	pods.go      pods and their manifests; disk.go the manifest directory
//	crio.go      records and calls of the runtime; workload.go what containers do
//	kubelet.go   the kubelet's process and its loops; worker.go one pod's worker;
//	sync.go      one sync of it; status.go what it says of it
//	systemd.go   units; host.go everything else of a node
//	agent.go     the loop around the code under test; snapshot.go what it sees
//	happening.go what may happen to a node without being a fault; fault.go faults
//	scenario.go  timelines from seeds; shrink.go smaller ones that still fail
//	check.go     what must hold of a timeline; mask.go sources made unknown
//
// A timeline is a function of its Scenario alone: the same one gives the same
// steps at the same times.
package world
