package status

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/nodekeeper/nodekeeper/internal/statefile"
)

const readLimit = 16 << 20

// ErrNotRunning is returned by Read when no agent has written a status since
// the node was booted.
var ErrNotRunning = errors.New("no status")

// Write publishes s. It is readable to everybody on the node.
func Write(dir string, s Status) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return statefile.Replace(filepath.Join(dir, Name), append(data, '\n'), 0o644, false)
}

// Read returns the last status.
func Read(dir string) (Status, error) {
	path := filepath.Join(dir, Name)
	data, err := statefile.Read(path, readLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return Status{}, fmt.Errorf("%w in %s", ErrNotRunning, path)
	}
	if err != nil {
		return Status{}, err
	}
	s, err := Decode(data)
	if err != nil {
		err = fmt.Errorf("%s %w", path, err)
	}
	return s, err
}
