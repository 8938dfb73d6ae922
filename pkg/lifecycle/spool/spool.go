package spool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/nodekeeper/nodekeeper/pkg/lifecycle"
)

// Where the spool is, and how many events it holds.
const (
	DefaultDir = "/run/nodekeeper/spool"
	DefaultMax = 1024
)

// ErrFull is returned by Put when the spool holds as many events as it may.
var ErrFull = errors.New("the spool is full")

const (
	suffix    = ".event"
	tornDir   = ".torn"
	maxTorn   = 16
	listBatch = 256
)

// Spool is one directory. Put may be called by any number of processes and
// goroutines at once, Drain by one at a time.
type Spool struct {
	dir     string
	max     int
	counter atomic.Uint64
}

// New is the spool in a directory, which is made with the first Put, with its
// parent. At most max events wait in it, by a count that puts at the same
// moment may exceed a little; 0 is DefaultMax.
func New(dir string, max int) *Spool {
	if max <= 0 {
		max = DefaultMax
	}
	return &Spool{dir: dir, max: max}
}

// Put adds an event, whole or not at all. It does not wait for the disk. The
// error is ErrFull at the bound, else the system's.
func (s *Spool) Put(e lifecycle.Event) error {
	data, err := encode(e)
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	dir, err := s.open()
	if err != nil {
		return err
	}
	defer dir.Close()
	switch n, err := count(dir, s.max); {
	case err != nil:
		return fmt.Errorf("spool: %w", err)
	case n >= s.max:
		mark(dir)
		return fmt.Errorf("%w: %d events in %s", ErrFull, n, s.dir)
	}
	if err := s.write(dir, data); err != nil {
		return fmt.Errorf("spool an event in %s: %w", s.dir, err)
	}
	return nil
}

func (s *Spool) write(dir *os.File, data []byte) error {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return err
	}
	pid, n := os.Getpid(), s.counter.Add(1)-1
	temporary, name := temporary(pid, n), fmt.Sprintf("%019d-%d-%d%s", now.Nano(), pid, n, suffix)
	at := int(dir.Fd())
	// What a process of the same number left behind, or somebody planted, is
	// not written to.
	if err := unix.Unlinkat(at, temporary, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return err
	}
	fd, err := unix.Openat(at, temporary, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), temporary)
	_, err = f.Write(data)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = unix.Renameat(at, temporary, at, name)
	}
	if err != nil {
		_ = unix.Unlinkat(at, temporary, 0)
	}
	return err
}

func temporary(pid int, n uint64) string { return fmt.Sprintf(".%d-%d.new", pid, n) }

// open opens the directory itself, never one that a link leads to.
func (s *Spool) open() (*os.File, error) {
	fd, err := unix.Open(s.dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open the spool", Path: s.dir, Err: err}
	}
	return os.NewFile(uintptr(fd), s.dir), nil
}

// count counts events, and stops at the bound.
func count(dir *os.File, bound int) (n int, err error) {
	for {
		names, err := dir.Readdirnames(listBatch)
		for _, name := range names {
			if isEvent(name) {
				n++
			}
		}
		switch {
		case n >= bound, errors.Is(err, io.EOF):
			return n, nil
		case err != nil:
			return n, err
		}
	}
}

func isEvent(name string) bool {
	return strings.HasSuffix(name, suffix) && name[0] >= '0' && name[0] <= '9'
}
