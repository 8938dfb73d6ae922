package spool

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

const (
	droppedFile = ".dropped"
	// maxDropped bounds that file; past it nobody wants the exact number.
	maxDropped = 1 << 20
)

// Waiting counts the events that wait, and those that have found no room since
// the directory was made, which is since the node was booted. A spool that does
// not exist is empty.
func (s *Spool) Waiting() (events int, dropped int64, err error) {
	dir, err := s.open()
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	defer dir.Close()
	var file unix.Stat_t
	if err := unix.Fstatat(int(dir.Fd()), droppedFile, &file, unix.AT_SYMLINK_NOFOLLOW); err == nil {
		dropped = file.Size
	}
	// Whoever puts counts as far as the bound; here nothing is to be hidden.
	events, err = count(dir, int(^uint(0)>>1))
	return events, dropped, err
}

// mark adds a byte: processes that die right afterwards have no other memory.
// What goes wrong with it is not worth a word: the caller has worse to tell.
func mark(dir *os.File) {
	fd, err := unix.Openat(int(dir.Fd()), droppedFile, unix.O_WRONLY|unix.O_CREAT|unix.O_APPEND|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	var file unix.Stat_t
	if err := unix.Fstat(fd, &file); err == nil && file.Mode&unix.S_IFMT == unix.S_IFREG && file.Size < maxDropped {
		_, _ = unix.Write(fd, []byte{'.'})
	}
}
