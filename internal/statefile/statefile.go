package statefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nodekeeper/nodekeeper/internal/regularfile"
)

// keptAside is how many unreadable files of one name are kept; the last place
// is used again and again, so that a disk that eats files does not fill up.
const keptAside = 5

// ErrTooLarge is returned by Read for a file that the agent did not write.
var ErrTooLarge = errors.New("larger than the agent writes it")

// Read returns the content of a file of at most limit bytes. It never waits: a
// FIFO or a device in its place is an error.
func Read(path string, limit int64) ([]byte, error) {
	f, err := regularfile.Read(path, limit+1)
	if errors.Is(err, regularfile.ErrTooLarge) {
		return nil, fmt.Errorf("%s: %w", path, ErrTooLarge)
	}
	return f.Data, err
}

// Replace puts data in the place of path in one step: readers see the old
// content or the new one. With durable set the new content survives a power
// cut once Replace has returned.
func Replace(path string, data []byte, mode fs.FileMode, durable bool) (err error) {
	temporary := path + ".new"
	// Whatever was put there meanwhile, a link or a FIFO, is not written to.
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
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
