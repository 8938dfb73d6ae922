package remedy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// hiddenPrefix marks a manifest that ReplaceManifest has taken out of the
// kubelet's sight: the kubelet skips dot files.
const hiddenPrefix = ".nodekeeper-"

// asidePrefix marks a hidden manifest that came back too late.
const asidePrefix = ".set-aside-by-nodekeeper-"

func hidden(path string) string {
	return filepath.Join(filepath.Dir(path), hiddenPrefix+filepath.Base(path))
}

// Restore puts back every manifest that an interrupted ReplaceManifest left
// hidden in the manifest directory. The agent calls it once at its start,
// before it looks. A manifest that has reappeared meanwhile is never
// overwritten: the hidden one is set aside under another dot name.
//
// It returns one line for each file that it moved, and an error that joins
// what it could not do. It is no error that there is no directory, or that the
// kubelet reads a single file instead: nothing can be hidden there.
func Restore(dir string) (notes []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for hidden manifests: %w", err)
	}
	var failed []error
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), hiddenPrefix) || entry.Name() == hiddenPrefix {
			continue
		}
		if !entry.Type().IsRegular() {
			failed = append(failed, fmt.Errorf("%s is not a regular file: look what it is", filepath.Join(dir, entry.Name())))
			continue
		}
		note, err := unhide(filepath.Join(dir, entry.Name()))
		switch {
		case err != nil:
			failed = append(failed, err)
		case note == "":
			note = "put back manifest " + shown(filepath.Join(dir, entry.Name())) + ", which was hidden when the agent ended"
			fallthrough
		default:
			notes = append(notes, note)
		}
	}
	return notes, errors.Join(failed...)
}

// shown is the manifest that a hidden file was.
func shown(from string) string {
	return filepath.Join(filepath.Dir(from), strings.TrimPrefix(filepath.Base(from), hiddenPrefix))
}

// unhide puts one manifest back, or sets it aside with a line that says so if
// its name has been taken.
func unhide(from string) (note string, err error) {
	to := shown(from)
	err = moveNoReplace(from, to)
	if err == nil {
		return "", nil
	}
	if !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("put manifest back: %w", err)
	}
	if sameFile(from, to) {
		// Interrupted between the link and the unlink of moveNoReplace.
		return "", os.Remove(from)
	}
	aside := filepath.Join(filepath.Dir(from), asidePrefix+filepath.Base(to))
	if err := os.Rename(from, aside); err != nil {
		return "", fmt.Errorf("set manifest aside: %w", err)
	}
	return "manifest " + to + " has reappeared and is kept; the former one is set aside as " + aside, nil
}

func sameFile(a, b string) bool {
	x, errX := os.Lstat(a)
	y, errY := os.Lstat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}
