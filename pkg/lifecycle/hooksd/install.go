package hooksd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nodekeeper/nodekeeper/internal/statefile"
)

// Install writes the hook's file, after everything that could be wrong with it
// has been ruled out. CRI-O, which watches the directory, uses it for the next
// container. Writing the same file again makes CRI-O look for the program
// again.
func Install(o Options) error {
	if err := program(o.HookPath); err != nil {
		return fmt.Errorf("install the hook: %w", err)
	}
	text, err := o.content()
	if err != nil {
		return fmt.Errorf("install the hook: %w", err)
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return fmt.Errorf("install the hook: %w", err)
	}
	// The temporary file has no name that the loader would read. It is synced:
	// an empty file after a power cut would keep CRI-O from starting.
	if err := statefile.Replace(o.path(), text, 0o644, true); err != nil {
		return fmt.Errorf("install the hook: %w", err)
	}
	return nil
}

// Uninstall removes the hook's file from the directory; where there is none
// that is no error. Program and directory stay.
func Uninstall(dir string) error {
	path := filepath.Join(dir, FileName)
	if err := os.Remove(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return fmt.Errorf("uninstall the hook: %w", err)
	}
	return statefile.SyncDir(dir)
}
