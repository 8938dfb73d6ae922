package remedy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	journalLines = "200"
	journalTime  = 3 * time.Second
	journalBytes = 1 << 20
)

// file is what evidence is written to.
type file interface {
	io.Writer
	io.Closer
}

func createFile(path string) (file, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
}

// linkFile gives an open file a second name, which keeps its content when the
// kubelet removes the first, at no cost. It goes through the descriptor, so
// that it links what was checked and not what has taken its name since.
func linkFile(from *os.File, to string) error {
	return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", from.Fd()), unix.AT_FDCWD, to, unix.AT_SYMLINK_FOLLOW)
}

// take saves a file of another program under a name: by a link where it may
// be linked, else by a copy of its end.
func (b *evidenceDir) take(path, name string, limit int64, mayLink bool) {
	from, size, err := openRegular(path)
	if err != nil {
		b.miss(path, err)
		return
	}
	defer from.Close()
	if size > b.left {
		limit = min(limit, b.left)
	}
	if limit <= 0 {
		b.miss(path, "the act's limit of bytes is reached")
		return
	}
	to := filepath.Join(b.dir, name)
	if mayLink && size <= limit && b.link(from, to) == nil {
		b.left -= size
		return
	}
	b.copyTail(from, size, to, limit)
}

// copyTail copies the last bytes of a file. What was copied before an error is
// kept.
func (b *evidenceDir) copyTail(from *os.File, size int64, to string, limit int64) {
	if size > limit {
		b.miss(from.Name(), fmt.Sprintf("only its last %d bytes of %d are kept", limit, size))
	}
	if _, err := from.Seek(max(0, size-limit), io.SeekStart); err != nil {
		b.miss(from.Name(), err)
		return
	}
	f, err := b.create(to)
	if err != nil {
		b.miss(from.Name(), err)
		return
	}
	n, err := io.Copy(f, io.LimitReader(from, limit))
	b.left -= n
	if err := firstErr(err, f.Close()); err != nil {
		b.miss(from.Name(), err)
	}
}

// openRegular opens a regular file for reading, and nothing else: not a link
// that a container has put there, and not a pipe that nobody writes to.
func openRegular(path string) (*os.File, int64, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ELOOP) {
		return nil, 0, errors.New("a symbolic link, not followed")
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// journalctl returns the last lines of a unit's journal.
func journalctl(ctx context.Context, unit string) ([]byte, error) {
	program, err := exec.LookPath("journalctl")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, journalTime)
	defer cancel()
	return run(ctx, []string{program, "--unit=" + unit, "--lines=" + journalLines, "--no-pager", "--quiet", "--output=short-iso-precise"}, journalBytes)
}

// safeName makes one path element of a string from another program.
func safeName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("-_.@", r):
			return r
		}
		return '_'
	}, s)
	return s[:min(len(s), 180)]
}

func firstOf(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}

func firstErr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
