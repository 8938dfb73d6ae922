package store

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/nodekeeper/nodekeeper/internal/statefile"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/retention"
	"golang.org/x/sys/unix"
)

// temporary begins the name of what is not finished.
const temporary = ".tmp-"

// isFull tells an error of a file system that has no room.
func isFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}

// withReserve gives the reserve away where an act fails for lack of room, and
// tries once more.
func (s *Store) withReserve(act func() error) error {
	err := act()
	if isFull(err) && s.reserve.release() {
		s.Log.Warn("disk is full: gave away the reserve for crash records")
		err = act()
	}
	return err
}

// put replaces a small file in one step.
func (s *Store) put(path string, data []byte, durable bool) error {
	return s.withReserve(func() error {
		if err := s.failing("write", path); err != nil {
			return err
		}
		unfinished := filepath.Join(filepath.Dir(path), temporary+filepath.Base(path))
		if err := create(unfinished, data, durable); err != nil {
			return err
		}
		if err := os.Rename(unfinished, path); err != nil {
			return errors.Join(err, os.Remove(unfinished))
		}
		if durable {
			return statefile.SyncDir(filepath.Dir(path))
		}
		return nil
	})
}

// create writes a new file; whatever had its name, a link or a FIFO too, is not
// written to. A file that could not be written is not left.
func create(path string, data []byte, durable bool) (err error) {
	if err := os.Remove(path); err != nil && !missing(err) {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && durable {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(path)
	}
	return err
}

func (s *Store) putJSON(path string, v any, durable bool) error {
	data, err := encode(v)
	if err != nil {
		return err
	}
	return s.put(path, data, durable)
}

func encode(v any) ([]byte, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	return append(data, '\n'), err
}

func (s *Store) failing(operation, path string) error {
	if s.fault == nil {
		return nil
	}
	return s.fault(operation, path)
}

func (s *Store) rename(from, to string) error {
	if err := s.failing("rename", to); err != nil {
		return err
	}
	return s.withReserve(func() error { return os.Rename(from, to) })
}

// publishAs is a rename that never replaces anything.
func (s *Store) publishAs(from, to string) error {
	if err := s.failing("rename", to); err != nil {
		return err
	}
	return s.withReserve(func() error {
		err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
			// The file system cannot do it. A record's directory is never
			// empty, so that a plain rename does not replace one either.
			err = unix.Rename(from, to)
		}
		if errors.Is(err, unix.ENOTEMPTY) {
			err = unix.EEXIST
		}
		if err != nil {
			return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
		}
		return nil
	})
}

// disk is the state of the root's file system; zero if it cannot be had.
func (s *Store) disk() retention.Disk {
	var st unix.Statfs_t
	if err := unix.Statfs(s.Root, &st); err != nil {
		return retention.Disk{}
	}
	block := int64(st.Bsize)
	return retention.Disk{
		Free: int64(st.Bavail) * block, Size: int64(st.Blocks) * block,
		FreeInodes: int64(st.Ffree), Inodes: int64(st.Files),
	}
}

// file is one file as lstat has it.
type file struct {
	id     inode
	links  uint64
	size   int64
	blocks int64 // bytes on disk
	mtime  int64
}

type inode struct{ Dev, Ino uint64 }

// stat looks at a regular file.
func stat(path string) (file, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return file{}, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return file{}, &os.PathError{Op: "stat", Path: path, Err: errors.New("not a regular file")}
	}
	return file{
		id: inode{uint64(st.Dev), st.Ino}, links: uint64(st.Nlink),
		size: st.Size, blocks: st.Blocks * 512, mtime: st.Mtim.Nano(),
	}, nil
}

// ours is what removing the file would free.
func (f file) ours() int64 {
	if f.links == 1 {
		return f.blocks
	}
	return 0
}

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// removeFiles removes files of a directory by name; those that are gone are
// none of its errors.
func removeFiles(dir string, names ...string) error {
	var errs []error
	for _, name := range names {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !missing(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func unfinished(name string) bool { return strings.HasPrefix(name, temporary) }
