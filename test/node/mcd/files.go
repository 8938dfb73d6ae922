package mcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The daemon's own store on the node, beside each other: originals of the
// operating system, and stamps of files that had none.
const (
	origDir   = "/etc/machine-config-daemon/orig"
	noOrigDir = "/etc/machine-config-daemon/noorig"
)

func origName(path string) string   { return filepath.Join(origDir, path+".mcdorig") }
func noOrigName(path string) string { return filepath.Join(noOrigDir, path+".mcdnoorig") }

// writeFiles writes all files, changed or not, as the daemon does.
func (d *Daemon) writeFiles(ctx context.Context, files []File) error {
	for _, file := range files {
		content, err := file.content()
		if err != nil {
			return err
		}
		if err := d.keepOriginal(ctx, file.Path); err != nil {
			return err
		}
		uid, gid := 0, 0
		if file.User.ID != nil {
			uid = *file.User.ID
		}
		if file.Group.ID != nil {
			gid = *file.Group.ID
		}
		if err := d.writeAtomically(file.Path, content, file.mode(), uid, gid); err != nil {
			return fmt.Errorf("write %s: %w", file.Path, err)
		}
	}
	return nil
}

// writeAtomically makes a temporary file beside the target, gives it mode and
// owner before its content, and renames it.
func (d *Daemon) writeAtomically(path string, content []byte, mode fs.FileMode, uid, gid int) error {
	target, err := d.node.Path(path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target))
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) // gone when it was renamed
	err = errors.Join(temporary.Chmod(mode), temporary.Chown(uid, gid))
	if err == nil {
		_, err = temporary.Write(content)
	}
	if err == nil {
		err = temporary.Sync()
	}
	if err := errors.Join(err, temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), target)
}

// keepOriginal keeps what belongs to the operating system, and stamps what does
// not: that is simply deleted later.
func (d *Daemon) keepOriginal(ctx context.Context, path string) error {
	if d.exists(noOrigName(path)) || d.exists(origName(path)) {
		return nil
	}
	if d.exists(path) {
		// In place of rpm -qf.
		if _, _, err := d.node.Exec(ctx, "dpkg", "-S", path); err == nil {
			content, mode, err := d.read(path)
			if err != nil {
				return err
			}
			return d.writeAtomically(origName(path), content, mode, 0, 0)
		}
	}
	return d.writeAtomically(noOrigName(path), nil, 0o644, 0, 0)
}

// dropFile takes a file away that the new configuration no longer has, or
// brings back the operating system's.
func (d *Daemon) dropFile(path string) error {
	if d.exists(noOrigName(path)) {
		if err := d.remove(noOrigName(path)); err != nil {
			return err
		}
		return d.remove(path)
	}
	if !d.exists(origName(path)) {
		return d.remove(path)
	}
	content, mode, err := d.read(origName(path))
	if err != nil {
		return err
	}
	if err := d.writeAtomically(path, content, mode, 0, 0); err != nil {
		return err
	}
	return d.remove(origName(path))
}

func (d *Daemon) exists(path string) bool {
	outside, err := d.node.Path(path)
	if err != nil {
		return false
	}
	_, err = os.Lstat(outside)
	return err == nil
}

func (d *Daemon) read(path string) ([]byte, fs.FileMode, error) {
	outside, err := d.node.Path(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := os.Lstat(outside)
	if err != nil {
		return nil, 0, err
	}
	content, err := os.ReadFile(outside)
	return content, info.Mode(), err
}

func (d *Daemon) remove(path string) error {
	outside, err := d.node.Path(path)
	if err != nil {
		return err
	}
	if err := os.Remove(outside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// sameOnDisk is an error unless the file has this content and this mode.
func (d *Daemon) sameOnDisk(path string, want []byte, mode fs.FileMode) error {
	content, got, err := d.read(path)
	switch {
	case err != nil:
		return fmt.Errorf("config drift: %w", err)
	case got != mode:
		return fmt.Errorf("config drift: mode mismatch for file %s: %v instead of %v", path, got, mode)
	case !bytes.Equal(content, want):
		return fmt.Errorf("config drift: content mismatch for file %s", path)
	}
	return nil
}
