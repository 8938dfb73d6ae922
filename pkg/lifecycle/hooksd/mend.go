package hooksd

import (
	"errors"
	"fmt"
)

// Mend keeps an installed hook from doing harm. A file that CRI-O cannot read is
// written again, since CRI-O would not start over it; mended says what was wrong
// with it. A hook whose program cannot be run is taken away, since every
// container that it matches would fail: that is the error, and Install puts it
// back once the program is there. A file that is not there was taken away by
// somebody, and stays away.
func Mend(o Options) (mended, err error) {
	if absent(o.path()) {
		return nil, nil
	}
	if err := program(o.HookPath); err != nil {
		return nil, errors.Join(fmt.Errorf("the hook is taken away: %w", err), Uninstall(o.Dir))
	}
	damage := unreadable(o.path())
	if damage == nil {
		return nil, nil
	}
	return fmt.Errorf("%s was damaged: %w", o.path(), damage), Install(o)
}
