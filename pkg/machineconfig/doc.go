// Package machineconfig renders what brings nodekeeper onto the nodes of an
// OpenShift pool, changes it there, and takes it away: MachineConfigs and the
// objects that go with them.
//
//	machineconfig/*.bu  --expand-->  Butane  --translate-->  MachineConfig
//	packaging/*
//
// It translates the few things of Butane's openshift variant that the sources
// use, to Ignition 3.2.0, so that nodekeeper need not be linked with Butane; the
// tests compare both. It does no I/O: the same options give the same bytes.
package machineconfig
