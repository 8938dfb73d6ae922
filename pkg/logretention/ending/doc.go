// Package ending says how an attempt of a container ended, from the few facts
// that are left of it. It is pure: no I/O, no clock.
//
//	exit code      conmon's exit file, or CRI's record; neither is always true
//	circumstances  the pod's manifest, other generations, the boot, our own acts
//
// What the facts do not say is not made up: the class is then lost-exit or
// lost-in-reboot, and where a class is a conclusion its reason says so.
package ending
