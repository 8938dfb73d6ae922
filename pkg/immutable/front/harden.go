package front

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Harden keeps what the process has in memory out of files: no core dump, no
// swap. It tells what could not be had; the process is no less safe to run than
// the kubelet, which has the same in memory.
func Harden() []string {
	var notes []string
	note := func(what string, err error) {
		if err != nil {
			notes = append(notes, fmt.Sprintf("%s: %v", what, err))
		}
	}
	note("no core dumps", unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
	note("no core dumps", unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}))
	// With a limit, memory that is locked as it comes would run into it and end
	// the process.
	unlimited := &unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, unlimited); err != nil {
		note("memory may be swapped: no limit of locked memory", err)
		return notes
	}
	// On fault: what is only reserved is not filled.
	note("memory may be swapped", unix.Mlockall(unix.MCL_CURRENT|unix.MCL_FUTURE|unix.MCL_ONFAULT))
	return notes
}
