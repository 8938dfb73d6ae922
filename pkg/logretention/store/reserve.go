package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/retention"
	"golang.org/x/sys/unix"
)

// The reserve is room, in bytes and inodes, that is given away when the disk is
// full, so that the facts of a crash can be written.
const (
	reserveDir    = ".reserve"
	reserveBytes  = 4 << 20
	reserveInodes = 16
	// plenty is how many times the reserve has to be free before it is taken:
	// taking the last room of a disk is not what it is for.
	plenty = 4
)

type reserve struct{ dir string }

// held tells whether the reserve is there; another process may have given it
// away.
func (r *reserve) held() bool {
	f, err := stat(filepath.Join(r.dir, "space"))
	return err == nil && f.blocks >= reserveBytes
}

// restore takes the reserve if there is plenty of room.
func (r *reserve) restore(disk retention.Disk) error {
	if r.held() || disk.Free < plenty*reserveBytes || disk.Inodes > 0 && disk.FreeInodes < plenty*reserveInodes {
		return nil
	}
	if err := r.take(); err != nil {
		r.release()
		return fmt.Errorf("reserve: %w", err)
	}
	return nil
}

func (r *reserve) take() error {
	if err := os.Mkdir(r.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	for i := range reserveInodes {
		if err := r.file(fmt.Sprintf("inode.%d", i), 0); err != nil {
			return err
		}
	}
	return r.file("space", reserveBytes)
}

func (r *reserve) file(name string, size int64) (err error) {
	f, err := os.OpenFile(filepath.Join(r.dir, name), os.O_WRONLY|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if size == 0 {
		return nil
	}
	err = unix.Fallocate(int(f.Fd()), 0, 0, size)
	if errors.Is(err, unix.EOPNOTSUPP) {
		_, err = f.WriteAt(make([]byte, size), 0)
	}
	return err
}

// release gives the reserve away; false if there was none.
func (r *reserve) release() bool {
	if _, err := os.Lstat(r.dir); err != nil {
		return false
	}
	return os.RemoveAll(r.dir) == nil
}
