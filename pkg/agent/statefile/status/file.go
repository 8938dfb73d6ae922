package status

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/nodekeeper/nodekeeper/internal/statefile"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// Name is the file in the run directory.
const Name = "status.json"

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
	var s Status
	if err := json.Unmarshal(data, &s); err != nil {
		return Status{}, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	if s.APIVersion != APIVersion || s.Kind != Kind {
		return Status{}, fmt.Errorf("%s is %s %s, not %s %s: the agent is of another version", path, s.APIVersion, s.Kind, APIVersion, Kind)
	}
	return s, nil
}

// staleSlack is added to three intervals before a status counts as stale.
const staleSlack = 10 * time.Second

// Stale tells whether the agent should have looked again by now. An act in
// hand is given its time.
func (s Status) Stale(bootID string, now node.Instant) bool {
	if s.Agent.BootID != bootID {
		return true
	}
	limit := time.Duration(3*s.Agent.IntervalSeconds*float64(time.Second)) + staleSlack
	if s.Agent.Acting != nil {
		limit += time.Duration(s.Agent.Acting.AtMostSeconds) * time.Second
	}
	return now.Boot-s.Agent.Taken.Boot > limit
}

// Overdue counts what is wrong beyond its deadline.
func (s Status) Overdue() int {
	n := 0
	for _, v := range s.Verdicts {
		if v.Overdue {
			n++
		}
	}
	return n
}
