package remedy

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// DefaultInstallerLocks match the lock files of OpenShift's static-pod
// installers, which hold them (flock) while they write manifests.
// openshift/library-go pkg/operator/staticpod/installerpod.
var DefaultInstallerLocks = []string{"/var/lock/*installer*.lock"}

// lockInstallers takes every lock file that is there, so that no installer
// writes manifests until release is called. It is refused, without waiting,
// while any of them is held. A lock that nobody has ever used is not made.
func lockInstallers(patterns []string) (release func(), err error) {
	var held []*os.File
	release = func() {
		for _, f := range held {
			f.Close()
		}
	}
	for _, pattern := range patterns {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
			if errors.Is(err, os.ErrNotExist) {
				continue
			}
			if err != nil {
				release()
				return nil, refusal("installer lock " + path + " cannot be opened: " + oneLine(err.Error()))
			}
			held = append(held, f)
			if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
				release()
				return nil, refusal("installer lock " + path + " is held")
			}
		}
	}
	return release, nil
}
