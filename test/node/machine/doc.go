// Package machine boots a node in a virtual machine: the root, the units and
// the programs of package node's box, under a kernel of its own. A box shares
// its kernel, and with it the clock and the version of control groups, with
// the machine around it; here a test may set the clock, and control groups are
// version 2 with systemd as their driver, whatever the machine has.
//
//	test process ──rpc on a virtual serial port──▶ guest ──▶ commands
//	      └── qemu (dies with it) ──▶ kernel ──▶ systemd (PID 1) ──▶ CRI-O, kubelet
//
// Without hardware virtualisation the processor is emulated, ten to thirty
// times slower: wait long, and never for a time that was measured in a box.
package machine
