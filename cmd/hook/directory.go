package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// openLive opens ROOT/.live, and makes it, and ROOT too, where the agent has
// not come to it yet. ROOT may be reached through links.
func openLive(root string) (*os.File, error) {
	if err := os.Mkdir(root, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	fd, err := unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: root, Err: err}
	}
	top := os.NewFile(uintptr(fd), root)
	defer top.Close()
	return ensure(top, record.LiveDir)
}

// ensure opens a directory below another, and makes it where it is missing.
func ensure(parent *os.File, name string) (*os.File, error) {
	if err := unix.Mkdirat(int(parent.Fd()), name, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
		return nil, &fs.PathError{Op: "mkdir", Path: parent.Name() + "/" + name, Err: err}
	}
	return subdirectory(parent, name)
}

// subdirectory opens a directory of our own, and nothing that was planted in
// its place.
func subdirectory(parent *os.File, name string) (*os.File, error) {
	path := parent.Name() + "/" + name
	fd, err := unix.Openat(int(parent.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	dir := os.NewFile(uintptr(fd), path)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		_ = dir.Close()
		return nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	if int64(stat.Uid) != int64(os.Geteuid()) {
		_ = dir.Close()
		return nil, fmt.Errorf("%s belongs to user %d", path, stat.Uid)
	}
	return dir, nil
}

// room keeps a crash loop without an agent from filling the disk: every link
// keeps a deleted log's blocks.
func room(live *os.File, o options) error {
	n := 0
	for n <= o.maxLive {
		names, err := live.Readdirnames(256)
		n += len(names)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if n >= o.maxLive {
		return fmt.Errorf("%d or more attempts wait in %s for the agent: no more are kept", o.maxLive, live.Name())
	}
	var stat unix.Statfs_t
	if err := unix.Fstatfs(int(live.Fd()), &stat); err != nil {
		return &fs.PathError{Op: "statfs", Path: live.Name(), Err: err}
	}
	for what, s := range map[string]struct{ free, all uint64 }{
		"space": {stat.Bavail, stat.Blocks},
		// Some file systems have no number of inodes: 0 of 0 are free.
		"inodes": {stat.Ffree, stat.Files},
	} {
		if s.free*100 < s.all*uint64(max(o.minFreePercent, 0)) {
			return fmt.Errorf("less than %d%% of %s free at %s: the log is not kept", o.minFreePercent, what, live.Name())
		}
	}
	return nil
}
