// Package e2e holds the node end-to-end tests: a real node in a box, a fault,
// and the agent, which is expected to take the lowest sufficient step, or none.
//
// Each test boots a box of its own and runs beside the others; those that set
// the clock or need control groups of version 2 boot a virtual machine, which
// is emulated and slow where the processor has no virtualisation. Labels as in
// Kubernetes' e2e_node pick a part of them:
//
//	go test ./e2e -label-filter='!Slow && Feature:Restart'
//
// With -delivered the agent is not copied onto the box: it comes by rendered
// MachineConfigs, out of the image, over a reboot.
package e2e
