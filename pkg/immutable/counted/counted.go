package counted

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/nodekeeper/nodekeeper/internal/statefile"
	"github.com/nodekeeper/nodekeeper/pkg/immutable"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/front"
)

const (
	name = "stats.json"
	// Every is the time between two writes; a file that is older than Stale is
	// of a guard that hangs, or is no more.
	Every = 5 * time.Second
	Stale = 3 * Every
	// limit is more than the file ever has.
	limit = 1 << 20
)

// Bypass is a way around the guard that the kubelet takes.
type Bypass string

// Ways around the guard.
const (
	// KillSwitch: an admin has set the kill switch; connections are passed on
	// unread.
	KillSwitch Bypass = "kill-switch"
	// Sick: the guard found itself sick and passes connections on unread.
	Sick Bypass = "sick"
	// Direct: there is no kubeconfig that leads through the guard, so a kubelet
	// that starts now goes to the API server directly. The guard may be dead
	// then: it is for the reader to look.
	Direct Bypass = "direct"
)

// Bypasses are all of them.
var Bypasses = [...]Bypass{KillSwitch, Sick, Direct}

// Stats is the file. Counters begin with the guard's process.
type Stats struct {
	Time time.Time `json:"time"`
	// Bypass are the ways around it that it has opened.
	Bypass []Bypass        `json:"bypass,omitempty"`
	Front  front.Stats     `json:"front"`
	Guard  immutable.Stats `json:"guard"`
}

// Dir is the guard's directory in the run directory.
func Dir(run string) string { return filepath.Join(run, "proxy") }

// Write replaces the file in the guard's directory.
func Write(dir string, s Stats) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return statefile.Replace(filepath.Join(dir, name), append(data, '\n'), 0o600, false)
}

// Read reads the file. It tells, by there, whether there is a guard on this node
// at all, which is whether there is its directory.
func Read(dir string) (s Stats, there bool, err error) {
	data, err := statefile.Read(filepath.Join(dir, name), limit)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			_, missing := os.Lstat(dir)
			return Stats{}, missing == nil, err
		}
		return Stats{}, true, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return Stats{}, true, fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
	}
	return s, true, nil
}

// Fresh tells whether a guard that works wrote the file. A time in the future
// is of before a jump of the clock.
func (s Stats) Fresh(now time.Time) bool {
	age := now.Sub(s.Time)
	return age >= -Stale && age <= Stale
}
