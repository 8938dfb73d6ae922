package safelink

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Source is a log file held by its inode, whatever becomes of its name. The
// caller closes it. Methods may be called concurrently.
type Source struct {
	path string
	file *os.File // O_PATH
}

// Stat is what matters of a log file's inode.
type Stat struct {
	Dev, Ino uint64
	// Nlink is the number of names: 0 once all have been removed.
	Nlink uint64
	// Size in bytes.
	Size    int64
	ModTime time.Time
}

// Path is the name that the file was opened by.
func (s *Source) Path() string { return s.path }

// Stat looks at the file as it is now. It is zero once the source is closed.
func (s *Source) Stat() Stat {
	stat, err := fstat(s.file)
	if err != nil {
		return Stat{}
	}
	// The types of Dev and Nlink differ between architectures.
	return Stat{
		Dev:     uint64(stat.Dev),
		Ino:     stat.Ino,
		Nlink:   uint64(stat.Nlink),
		Size:    stat.Size,
		ModTime: time.Unix(stat.Mtim.Unix()),
	}
}

// LinkAt gives the file one more name in the directory. The error wraps the
// system's: fs.ErrExist where the name is taken, and those of CannotLink. A
// directory that has been removed is an error of the caller's, and none of
// those.
func (s *Source) LinkAt(dir *os.File, name string) error {
	if name == "" || name == "." || name == ".." || strings.Contains(name, "/") {
		return fmt.Errorf("link %s: %q is no file name", s.path, name)
	}
	defer runtime.KeepAlive(dir)
	defer runtime.KeepAlive(s)
	err := unix.Linkat(unix.AT_FDCWD, s.magic(), int(dir.Fd()), name, unix.AT_SYMLINK_FOLLOW)
	if err == nil {
		return nil
	}
	if errors.Is(err, unix.ENOENT) && s.Stat().Nlink > 0 {
		return fmt.Errorf("link %s into %s: the directory is gone: %w", s.path, dir.Name(), fs.ErrNotExist)
	}
	return &os.LinkError{Op: "link", Old: s.path, New: dir.Name() + "/" + name, Err: err}
}

// Reader opens the file for reading, from its beginning; the caller closes it.
// It works after the last name is gone.
func (s *Source) Reader() (*os.File, error) {
	defer runtime.KeepAlive(s)
	fd, err := ignoringEINTR(func() (int, error) {
		return unix.Open(s.magic(), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: s.path, Err: err}
	}
	return os.NewFile(uintptr(fd), s.path), nil
}

// Close lets go of the file.
func (s *Source) Close() error { return s.file.Close() }

// magic is the link in /proc that leads to the open file itself, not to a name.
func (s *Source) magic() string {
	return "/proc/self/fd/" + strconv.Itoa(int(s.file.Fd()))
}

// CannotLink tells whether an error of LinkAt means that this file cannot have
// a name in that place, so that a copy of it is the answer: another file system
// (EXDEV), too many links (EMLINK), no names left to link (ENOENT), or links
// refused for this file or by this file system (EPERM, EOPNOTSUPP).
func CannotLink(err error) bool {
	var link *os.LinkError
	if !errors.As(err, &link) {
		return false
	}
	for _, errno := range []syscall.Errno{unix.EXDEV, unix.EMLINK, unix.ENOENT, unix.EPERM, unix.EOPNOTSUPP} {
		if errors.Is(link.Err, errno) {
			return true
		}
	}
	return false
}
