package node

import (
	"errors"
	"fmt"
	"os"
)

// Suspend stops every process of the box at once, as a hypervisor does that
// stuns its guest: clocks go on, and nobody in the box notices. Only Resume,
// Stop and files (Path) work until then.
func (b *Box) Suspend() error { return b.setSuspended(true) }

// Resume undoes Suspend.
func (b *Box) Resume() error { return b.setSuspended(false) }

// setSuspended freezes the box's own control group, which is the top of those
// that it sees.
func (b *Box) setSuspended(suspended bool) error {
	for _, way := range []struct{ file, on, off string }{
		{"/sys/fs/cgroup/freezer/freezer.state", "FROZEN", "THAWED"},
		{"/sys/fs/cgroup/cgroup.freeze", "1", "0"},
	} {
		path, err := b.Path(way.file)
		if err != nil {
			return err
		}
		value := way.off
		if suspended {
			value = way.on
		}
		// Not WriteFile, which would make a file that is not there.
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("suspend or resume box %s: %w", b.Name, err)
		}
		_, err = file.WriteString(value)
		return errors.Join(err, file.Close())
	}
	return fmt.Errorf("suspend or resume box %s: its control group cannot freeze", b.Name)
}
