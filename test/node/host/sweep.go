package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Sweep removes the boxes whose owner and supervisor are both dead, and puts
// kernel settings back when no box is left. It returns the names of the boxes
// removed. Safe to call at any time and from several processes.
func Sweep() ([]string, error) {
	if _, err := os.Stat(RunDir()); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	unlock, err := lockRunDir()
	if err != nil {
		return nil, err
	}
	defer unlock()
	dirs, err := boxDirs()
	if err != nil {
		return nil, err
	}
	var removed []string
	var failures []error
	alive := 0
	for _, dir := range dirs {
		record, err := ReadRecord(dir)
		if err == nil && !stale(record, Process.Alive) {
			alive++
			continue
		}
		// A folder without a record was left half made: boxes are made under
		// the lock that is held here.
		if record.Cgroup == "" {
			record.Cgroup = "nodekeeper-" + filepath.Base(dir)
		}
		if err := removeBox(dir, record); err != nil {
			failures = append(failures, err)
			continue
		}
		removed = append(removed, filepath.Base(dir))
	}
	if alive == 0 {
		failures = append(failures, restoreSettings())
	}
	return removed, errors.Join(failures...)
}

// stale: a dead owner's supervisor is left to clean up by itself, and a
// living owner may still start its supervisor.
func stale(record Record, alive func(Process) bool) bool {
	return !alive(record.Owner) && !alive(record.Supervisor)
}

// RemoveBox gives back everything that the box in dir has borrowed. The box
// must be dead already.
func RemoveBox(dir string) error {
	unlock, err := lockRunDir()
	if err != nil {
		return err
	}
	defer unlock()
	record, err := ReadRecord(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := removeBox(dir, record); err != nil {
		return err
	}
	dirs, err := boxDirs()
	if err != nil {
		return err
	}
	for _, other := range dirs {
		if record, err := ReadRecord(other); err == nil && !stale(record, Process.Alive) {
			return nil
		}
	}
	return restoreSettings()
}

// removeBox needs the lock.
func removeBox(dir string, record Record) error {
	err := InPrivateMounts(func() error {
		plan, err := PlanCgroups()
		if err != nil {
			return err
		}
		if err := plan.Mount(); err != nil {
			return err
		}
		return plan.Remove(record.Cgroup)
	})
	if err != nil {
		return fmt.Errorf("remove the control groups of box %s: %w", filepath.Base(dir), err)
	}
	// A dying mount namespace is taken apart in the background: its overlay
	// may still be busy for a moment.
	deadline := time.Now().Add(10 * time.Second)
	for {
		err = os.RemoveAll(dir)
		if err == nil || !errors.Is(err, syscall.EBUSY) && !errors.Is(err, syscall.ENOTEMPTY) || time.Now().After(deadline) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		return fmt.Errorf("remove the folder of box %s: %w", filepath.Base(dir), err)
	}
	return nil
}
