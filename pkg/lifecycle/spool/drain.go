package spool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/nodekeeper/nodekeeper/pkg/lifecycle"
)

// Drain hands all events to the handler, oldest first, and removes each once
// the handler has returned: one that is handled while the agent dies comes
// again. Events that make no sense are set aside, what a dead process was
// writing is removed, and files of other names are left alone. It returns how
// many events were handled; the error joins what stood in the way of single
// ones, and tells of those set aside. A spool that does not exist is empty.
func (s *Spool) Drain(handle func(lifecycle.Event)) (n int, err error) {
	dir, err := s.open()
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return 0, fmt.Errorf("drain the spool: %w", err)
	}
	var failed []error
	for _, name := range names {
		if left(name) {
			failed = append(failed, unix.Unlinkat(int(dir.Fd()), name, 0))
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !isEvent(name) })
	slices.Sort(names)
	for _, name := range names {
		e, err := read(dir, name)
		switch {
		case err == nil:
			handle(e)
			n++
			err = unix.Unlinkat(int(dir.Fd()), name, 0)
		case errors.Is(err, fs.ErrNotExist):
			err = nil
		case errors.Is(err, errTorn):
			err = errors.Join(err, setAside(dir, name))
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s/%s: %w", s.dir, name, err))
		}
	}
	return n, errors.Join(failed...)
}

// left tells whether a temporary file's writer died over it.
func left(name string) bool {
	var pid, n int
	if _, err := fmt.Sscanf(name, ".%d-%d.new", &pid, &n); err != nil || name != temporary(pid, uint64(n)) || pid <= 0 {
		return false
	}
	return errors.Is(unix.Kill(pid, 0), unix.ESRCH)
}

func read(dir *os.File, name string) (lifecycle.Event, error) {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		// ELOOP: a symbolic link; ENXIO: a socket.
		if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENXIO) {
			err = fmt.Errorf("%w: %w", errTorn, err)
		}
		return lifecycle.Event{}, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return lifecycle.Event{}, err
	}
	if !info.Mode().IsRegular() {
		return lifecycle.Event{}, fmt.Errorf("%w: it is %v", errTorn, info.Mode())
	}
	data, err := io.ReadAll(io.LimitReader(f, maxEvent+1))
	if err != nil {
		return lifecycle.Event{}, err
	}
	return decode(data)
}

// setAside moves a file into .torn, or removes it where enough lie there
// already: one is a riddle to solve, a thousand are only one riddle.
func setAside(dir *os.File, name string) error {
	at := int(dir.Fd())
	if err := unix.Mkdirat(at, tornDir, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
		return err
	}
	fd, err := unix.Openat(at, tornDir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	torn := os.NewFile(uintptr(fd), tornDir)
	defer torn.Close()
	names, err := torn.Readdirnames(maxTorn)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if len(names) < maxTorn {
		return unix.Renameat(at, name, fd, name)
	}
	err = unix.Unlinkat(at, name, 0)
	if errors.Is(err, unix.EISDIR) {
		// A directory of that name is nobody's event. It is left, as it may
		// hold something.
		return nil
	}
	return err
}
