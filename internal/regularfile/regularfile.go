// Package regularfile reads small regular files that somebody else may be
// replacing at the same moment, without ever waiting for a FIFO or touching a
// device. Linux only.
package regularfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// Errors that callers tell apart. fs.ErrNotExist is the third.
var (
	// ErrNotRegular: a directory, FIFO, socket or device.
	ErrNotRegular = errors.New("not a regular file")
	// ErrTooLarge: the file has the given limit of bytes, or more.
	ErrTooLarge = errors.New("too large")
)

// File is what one read of a file gave.
type File struct {
	Identity Identity
	Data     []byte
	// Stable is set when the file did not change while it was read. Data of an
	// unstable file may be half old and half new.
	Stable bool
}

// Read reads a regular file of less than limit bytes. Symbolic links are
// followed.
func Read(path string, limit int64) (File, error) {
	// Opening a device can act on it (a tape rewinds, a watchdog arms), so
	// that nothing is opened before it is known to be a regular file.
	if _, err := Stat(path); err != nil {
		return File{}, err
	}
	// The name may have been taken by a FIFO since; O_NONBLOCK opens that at
	// once, and the check below refuses it.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return File{}, err
	}
	defer file.Close()

	before, err := identify(file.Stat())
	if err != nil {
		return File{}, wrap(path, err)
	}
	if before.Size >= limit {
		return File{}, wrap(path, ErrTooLarge)
	}
	data, err := io.ReadAll(io.LimitReader(file, limit))
	if err != nil {
		return File{}, err
	}
	if int64(len(data)) >= limit {
		return File{}, wrap(path, ErrTooLarge)
	}
	after, err := identify(file.Stat())
	if err != nil {
		return File{}, wrap(path, err)
	}
	return File{Identity: before, Data: data, Stable: before == after}, nil
}

// Stat tells which regular file a path names now. Symbolic links are followed.
func Stat(path string) (Identity, error) {
	id, err := identify(os.Stat(path))
	return id, wrap(path, err)
}

func identify(info fs.FileInfo, err error) (Identity, error) {
	if err != nil {
		return Identity{}, err
	}
	if !info.Mode().IsRegular() {
		return Identity{}, ErrNotRegular
	}
	return identityOf(info)
}

func wrap(path string, err error) error {
	var named *fs.PathError
	if err == nil || errors.As(err, &named) {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// settleTime is longer than the kernel's time stamps are coarse (a tick, or
// 2 s on FAT), so that two writes inside it may look like one.
const settleTime = 3 * time.Second

// Settled tells whether a file that still has this identity also has the same
// content as when it was read at the given time. A file that changed just
// before it was read could have been changed again within the same time stamp.
func (id Identity) Settled(read time.Time) bool {
	age := read.Sub(time.Unix(0, id.Changed))
	// A time stamp from the future says that the clock ran backwards: nothing
	// follows from it.
	return age > settleTime
}
