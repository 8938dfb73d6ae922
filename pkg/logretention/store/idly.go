package store

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// I/O scheduling classes of ioprio_set(2), shifted to their place.
const (
	ioprioWhoProcess = 1 // with a number of 0: the calling thread
	ioprioIdle       = 3 << 13
)

// idly does work in the idle I/O class: the disk may be etcd's, too. Where the
// class cannot be set, the work is done all the same.
func idly(work func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, _, failed := unix.Syscall(unix.SYS_IOPRIO_GET, ioprioWhoProcess, 0, 0)
	if failed == 0 {
		_, _, failed = unix.Syscall(unix.SYS_IOPRIO_SET, ioprioWhoProcess, 0, ioprioIdle)
	}
	if failed == 0 {
		defer unix.Syscall(unix.SYS_IOPRIO_SET, ioprioWhoProcess, 0, before)
	}
	return work()
}
