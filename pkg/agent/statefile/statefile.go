package statefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// keptAside is how many unreadable files of one name are kept; the last place
// is used again and again, so that a disk that eats files does not fill up.
const keptAside = 5

// ErrTooLarge is returned by Read for a file that the agent did not write.
var ErrTooLarge = errors.New("larger than the agent writes it")

// Read returns the content of a file of at most limit bytes.
func Read(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s: %w", path, ErrTooLarge)
	}
	return data, nil
}

// Replace puts data in the place of path in one step: readers see the old
// content or the new one. With durable set the new content survives a power
// cut once Replace has returned.
func Replace(path string, data []byte, mode fs.FileMode, durable bool) (err error) {
	temporary := path + ".new"
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(temporary)
		}
	}()
	if _, err = f.Write(data); err != nil {
		return err
	}
	if durable {
		if err = f.Sync(); err != nil {
			return err
		}
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = os.Rename(temporary, path); err != nil || !durable {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// SyncDir makes the names in a directory survive a power cut.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// SetAside moves an unreadable file out of the way, to path.corrupt-1 and so
// on, and returns its new name.
func SetAside(path string) (string, error) {
	for n := 1; ; n++ {
		aside := fmt.Sprintf("%s.corrupt-%d", path, n)
		if _, err := os.Lstat(aside); err == nil && n < keptAside {
			continue
		}
		return aside, os.Rename(path, aside)
	}
}
