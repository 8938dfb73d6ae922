package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"time"

	"github.com/nodekeeper/nodekeeper/internal/statefile"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// Name is the file in the run directory.
const Name = "history.json"

const readLimit = 8 << 20

// drift is how far wall and boot clock may part before it is worth a write.
// It is well below what the judge calls a step.
const drift = time.Second

// lookedEvery is how often the time of the last look is written while there are
// faults. What lies between that and the end of the agent counts as not lived.
const lookedEvery = 30 * time.Second

// File writes a history when it has changed in substance. One goroutine at a
// time may use it.
type File struct {
	path string
	// looks is from how many looks on it does not matter how many they were.
	looks   int
	written restartpolicy.History
	known   bool
}

// New returns the file in dir, of a judge that wants so many equal looks.
func New(dir string, looks int) *File {
	return &File{path: filepath.Join(dir, Name), looks: looks}
}

// Load returns the history of this boot, or a fresh one. What cannot be read
// is set aside, and aside says so in one line.
func (f *File) Load(bootID string, now node.Instant) (h restartpolicy.History, aside string) {
	data, err := statefile.Read(f.path, readLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return restartpolicy.History{}, ""
	}
	if err == nil {
		err = json.Unmarshal(data, &h)
	}
	if err == nil && (h.BootID != bootID || bootID == "") {
		return restartpolicy.History{}, ""
	}
	if err == nil {
		err = plausible(h, now.Boot)
	}
	if err == nil {
		// Nobody looked while the agent was down: what was seen before has to be
		// seen again before anything is done about it.
		for id, fault := range h.Faults {
			fault.Looks = 0
			h.Faults[id] = fault
		}
		return h, ""
	}
	name, asideErr := statefile.SetAside(f.path)
	if asideErr != nil {
		return restartpolicy.History{}, fmt.Sprintf("%s could not be read (%s), nor set aside (%s)", f.path, err, asideErr)
	}
	return restartpolicy.History{}, fmt.Sprintf("%s could not be read (%s) and is now %s", f.path, err, filepath.Base(name))
}

// plausible refuses a history from the future or from before the boot: with a
// time before the boot, every deadline would be over at once.
func plausible(h restartpolicy.History, now time.Duration) error {
	within := func(times ...time.Duration) bool {
		for _, t := range times {
			if t < 0 || t > now {
				return false
			}
		}
		return true
	}
	if !within(h.Stepped, h.Looked, h.Kubelet.Since, h.Runtime.Since) {
		return errors.New("a clock step, a look or a process at an impossible time")
	}
	for id, fault := range h.Faults {
		if !within(fault.Since, fault.LastHung) || fault.Looks < 0 {
			return fmt.Errorf("%q at an impossible time", id)
		}
	}
	for pod, seen := range h.Manifests {
		if !within(seen.Since) {
			return fmt.Errorf("the manifest of %q at an impossible time", pod)
		}
	}
	return nil
}

// Save writes h if it differs from what is on disk.
func (f *File) Save(h restartpolicy.History) error {
	if f.known && f.same(h, f.written) {
		return nil
	}
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := statefile.Replace(f.path, append(data, '\n'), 0o600, false); err != nil {
		return err
	}
	f.written, f.known = h, true
	return nil
}

func (f *File) same(a, b restartpolicy.History) bool {
	return a.BootID == b.BootID && a.Stepped == b.Stepped &&
		(a.Offset-b.Offset).Abs() < drift &&
		(len(a.Faults) == 0 || a.Looked-b.Looked < lookedEvery) &&
		a.Kubelet == b.Kubelet && a.Runtime == b.Runtime &&
		reflect.DeepEqual(a.Manifests, b.Manifests) &&
		maps.EqualFunc(a.Faults, b.Faults, func(x, y restartpolicy.Fault) bool {
			x.Looks, y.Looks = min(x.Looks, f.looks), min(y.Looks, f.looks)
			return x == y
		})
}
