package logretention

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/safelink"
)

// mostCopied bounds a log that is copied back where it cannot be linked.
const mostCopied = 1 << 20

// directory opens directories and no links to them.
const directory = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// openBelow opens a directory in a pod's log directory, and makes it as the
// kubelet does if it is missing.
func openBelow(pod, container string) (*os.File, error) {
	top, err := unix.Open(pod, directory, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open directory", Path: pod, Err: err}
	}
	defer unix.Close(top)
	path := filepath.Join(pod, container)
	if err := unix.Mkdirat(top, container, 0o755); err != nil && !errors.Is(err, unix.EEXIST) {
		return nil, &os.PathError{Op: "make directory", Path: path, Err: err}
	}
	fd, err := unix.Openat(top, container, directory, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open directory", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// copyBack makes a copy of a small log. It has no name before it is whole, as
// the kubelet takes every name there for a log.
func copyBack(src *safelink.Source, dir *os.File, name string) (err error) {
	if size := src.Stat().Size; size > mostCopied {
		return fmt.Errorf("it cannot be linked, and %d bytes are too many to copy", size)
	}
	from, err := src.Reader()
	if err != nil {
		return err
	}
	defer from.Close()
	fd, err := unix.Openat(int(dir.Fd()), ".", unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o640)
	if err != nil {
		return &os.PathError{Op: "make a file in", Path: dir.Name(), Err: err}
	}
	to := os.NewFile(uintptr(fd), filepath.Join(dir.Name(), name))
	defer func() { err = errors.Join(err, to.Close()) }()
	if _, err := io.Copy(to, io.LimitReader(from, mostCopied)); err != nil {
		return err
	}
	magic := "/proc/self/fd/" + strconv.Itoa(int(to.Fd()))
	err = unix.Linkat(unix.AT_FDCWD, magic, int(dir.Fd()), name, unix.AT_SYMLINK_FOLLOW)
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return &os.LinkError{Op: "link", Old: magic, New: to.Name(), Err: err}
	}
	return nil
}
