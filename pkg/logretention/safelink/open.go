package safelink

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrPlanted is wrapped by the error of Open when something other than a log
// file of ours lies at the path; the text says what.
var ErrPlanted = errors.New("not a container's log file")

// below is how many components of a log's path lie below the pod log root:
// NAMESPACE_POD_UID/CONTAINER/N.log
// (kubelet pkg/kubelet/kuberuntime/helpers.go buildContainerLogsPath).
const below = 3

// Open opens a container's log file, ROOT/NAMESPACE_POD_UID/CONTAINER/N.log, to
// be linked. ROOT may be reached through symbolic links, nothing below it may
// be one. The file has to be regular and owned by the user that runs this
// program (the runtime creates it as root). A missing file is fs.ErrNotExist.
func Open(logPath string) (*Source, error) {
	return open(logPath, openBeneath)
}

// beneath opens a relative path below the directory root as O_PATH; a symbolic
// link at its end is opened itself, one on the way is ELOOP.
type beneath func(root int, path string) (fd int, err error)

func open(logPath string, openBeneath beneath) (*Source, error) {
	root, path, err := split(logPath)
	if err != nil {
		return nil, err
	}
	top, err := ignoringEINTR(func() (int, error) {
		return unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: root, Err: err}
	}
	defer unix.Close(top)
	fd, err := ignoringEINTR(func() (int, error) { return openBeneath(top, path) })
	switch {
	case errors.Is(err, unix.ELOOP):
		return nil, fmt.Errorf("%s: %w: there is a symbolic link on the way", logPath, ErrPlanted)
	case errors.Is(err, unix.ENOTDIR):
		return nil, fmt.Errorf("%s: %w: there is something else in the place of a directory", logPath, ErrPlanted)
	case err != nil:
		return nil, &os.PathError{Op: "open", Path: logPath, Err: err}
	}
	s := &Source{path: logPath, file: os.NewFile(uintptr(fd), logPath)}
	if err := s.check(); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

func split(logPath string) (root, path string, err error) {
	if !filepath.IsAbs(logPath) || filepath.Clean(logPath) != logPath || strings.Contains(logPath, "\x00") {
		return "", "", fmt.Errorf("log path %q: not an absolute, plain path", logPath)
	}
	root = logPath
	for range below {
		root = filepath.Dir(root)
	}
	path = strings.TrimPrefix(strings.TrimPrefix(logPath, root), "/")
	if strings.Count(path, "/") != below-1 {
		return "", "", fmt.Errorf("log path %q: want ROOT/NAMESPACE_POD_UID/CONTAINER/N.log", logPath)
	}
	return root, path, nil
}

func (s *Source) check() error {
	stat, err := fstat(s.file)
	if err != nil {
		return &os.PathError{Op: "stat", Path: s.path, Err: err}
	}
	if what := kind(stat.Mode); what != "" {
		return fmt.Errorf("%s: %w: it is %s", s.path, ErrPlanted, what)
	}
	if self := os.Geteuid(); int64(stat.Uid) != int64(self) {
		return fmt.Errorf("%s: %w: it belongs to user %d, not %d", s.path, ErrPlanted, stat.Uid, self)
	}
	return nil
}

// kind names what is no regular file.
func kind(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return ""
	case unix.S_IFLNK:
		return "a symbolic link"
	case unix.S_IFDIR:
		return "a directory"
	case unix.S_IFIFO:
		return "a FIFO"
	case unix.S_IFSOCK:
		return "a socket"
	case unix.S_IFBLK, unix.S_IFCHR:
		return "a device"
	}
	return "of an unknown kind"
}

// openBeneath lets the kernel walk the path in one step, which no rename on
// the way can fool; before Linux 5.6 and under old seccomp filters it is walked
// component by component.
func openBeneath(root int, path string) (int, error) {
	fd, err := unix.Openat2(root, path, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH,
	})
	if errors.Is(err, unix.ENOSYS) {
		return walkBeneath(root, path)
	}
	return fd, err
}

func walkBeneath(root int, path string) (int, error) {
	at := root
	for {
		name, rest, more := strings.Cut(path, "/")
		fd, err := unix.Openat(at, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if at != root {
			_ = unix.Close(at)
		}
		if err != nil || !more {
			return fd, err
		}
		var stat unix.Stat_t
		err = unix.Fstat(fd, &stat)
		if err == nil {
			switch stat.Mode & unix.S_IFMT {
			case unix.S_IFDIR:
			case unix.S_IFLNK:
				err = unix.ELOOP
			default:
				err = unix.ENOTDIR
			}
		}
		if err != nil {
			_ = unix.Close(fd)
			return -1, err
		}
		at, path = fd, rest
	}
}

func fstat(f *os.File) (unix.Stat_t, error) {
	var stat unix.Stat_t
	err := unix.Fstat(int(f.Fd()), &stat)
	runtime.KeepAlive(f)
	return stat, err
}

func ignoringEINTR(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
