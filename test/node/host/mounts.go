package host

import (
	"fmt"
	"runtime"
	"syscall"
)

// InPrivateMounts calls act on a thread with a mount namespace of its own, in
// which nothing that act mounts is seen from outside. The thread ends with
// act; processes started by act keep the namespace alive. Must act start
// processes, then only from its own goroutine.
func InPrivateMounts(act func() error) error {
	result := make(chan error)
	go func() {
		// Never unlocked: a thread with another mount namespace must not
		// serve any other goroutine.
		runtime.LockOSThread()
		if err := syscall.Unshare(syscall.CLONE_NEWNS); err != nil {
			result <- fmt.Errorf("make a mount namespace: %w", err)
			return
		}
		if err := syscall.Mount("", "/", "", syscall.MS_PRIVATE|syscall.MS_REC, ""); err != nil {
			result <- fmt.Errorf("make mounts private: %w", err)
			return
		}
		result <- act()
	}()
	return <-result
}
