package store

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lockName is locked by whoever changes something below the root: the agent,
// and the command line's hold and release. The hook needs no lock: it only adds
// names that are its own.
const lockName = ".lock"

// lockWait bounds the wait for another process, whose changes are short; one
// that has been stopped in the middle must not stop the agent.
const (
	lockWait  = 5 * time.Second
	lockRetry = 10 * time.Millisecond
)

// lockFile is the lock. Another process that changed a record says so by the
// file's modification time.
type lockFile struct {
	file *os.File
	seen int64 // its modification time when this process let go of it
}

func openLock(path string) (*lockFile, error) {
	// Not for writing: an open file that may be written to keeps a disk from
	// being made read-only.
	f, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	return &lockFile{file: f}, nil
}

// renew opens the lock file again where somebody removed it, with the whole
// root maybe: others lock the file that has the name. Where that cannot be done
// the root is not there to be changed either.
func (l *lockFile) renew() {
	ours, err := l.file.Stat()
	named, missing := os.Lstat(l.file.Name())
	if err != nil || missing == nil && os.SameFile(ours, named) {
		return
	}
	if again, err := openLock(l.file.Name()); err == nil {
		_ = l.file.Close()
		l.file = again.file
	}
}

// acquire waits for the lock; changed tells that another process has changed
// something since this one had it.
func (l *lockFile) acquire() (changed bool, err error) {
	l.renew()
	for end := time.Now().Add(lockWait); ; time.Sleep(lockRetry) {
		err := unix.Flock(int(l.file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return false, &os.PathError{Op: "lock", Path: l.file.Name(), Err: err}
		}
		if time.Now().After(end) {
			return false, ErrBusy
		}
	}
	modified := l.modified()
	changed = l.seen != 0 && l.seen != modified
	l.seen = modified
	return changed, nil
}

// tell makes other processes look at the records again. Called with the lock
// held.
func (l *lockFile) tell() error {
	// A counter of its own would need a write that a full disk refuses.
	now := time.Now()
	if last := time.Unix(0, l.modified()); !now.After(last) {
		now = last.Add(time.Microsecond)
	}
	at := unix.NsecToTimeval(now.UnixNano())
	if err := unix.Futimes(int(l.file.Fd()), []unix.Timeval{at, at}); err != nil {
		return &os.PathError{Op: "touch", Path: l.file.Name(), Err: err}
	}
	l.seen = l.modified()
	return nil
}

func (l *lockFile) modified() int64 {
	info, err := l.file.Stat()
	if err != nil {
		return 0
	}
	return info.ModTime().UnixNano()
}

func (l *lockFile) release() { _ = unix.Flock(int(l.file.Fd()), unix.LOCK_UN) }

// Close lets go of the lock file.
func (l *lockFile) Close() error { return l.file.Close() }
