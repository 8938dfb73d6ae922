package statefile

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ErrLocked is returned by Lock when another process holds the lock.
var ErrLocked = errors.New("held by another process")

// Lock takes the lock file at path, without waiting, until the file is closed
// or the process ends.
func Lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return f, nil
	}
	_ = f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, fmt.Errorf("%s: %w", path, ErrLocked)
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}
