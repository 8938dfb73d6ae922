// Package pause is an admin's request that the agent take no act for a while,
// pause.json in the state directory. It is written by the command line and
// read by the agent at each look.
//
// A pause ends by itself. Within the boot in which it was set only the boot
// clock counts, so a jump of the wall clock neither ends it nor makes it
// eternal. After a reboot it ends at its wall time, and at the latest when the
// new boot is as old as the pause is long. A file that cannot be read counts
// as a pause without end: the admin wanted something, and resume removes it.
package pause
