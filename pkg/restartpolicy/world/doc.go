//go:build world

// Package world is a node in simulated time, for tests of package restartpolicy
// and of nothing else: a kubelet, CRI-O, systemd, static pods, admins, and an
// agent that looks at them and carries out its steps with their true effects.
//
// It is written from what kubelets 1.30 to 1.37 and CRI-O do, and from what was
// measured on real ones (measured_test.go); it shares no rule and no constant
// with the code under test, whose exported API is all that it uses. A rule that
// mirrors another program names file and function.
//
//	sim            time, tasks, and random numbers that belong to one thing
//	pods, disk     pods as people write them, and the directory of manifests
//	crio, calls    records of the runtime, and what each call does to them
//	workload       what the containers themselves do
//	kubelet        its process; sources and housekeeping are its loops
//	worker         one pod's worker; sync and start are one sync of it; status
//	               is what it says of it
//	systemd, host  units, and everything else of a node
//	agent, act     the loop around the code under test, and its acts
//	snapshot       what the agent sees; mask makes sources of it unknown
//	happening      what may happen without being a fault: admin, around
//	fault          what is one: curable, incurable
//	scenario, draw, play, shrink   timelines from seeds
//	invariant      what no act may do, asked of the node itself
//	properties     what must hold of every timeline: cured, metamorphic
//
// A timeline is a function of its Scenario alone: the same one gives the same
// steps at the same times. To add something that may happen, add an entry to one
// of the maps of happenings or faults.
package world
