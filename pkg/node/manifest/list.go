package manifest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// list returns the paths that the kubelet would look at, in the order in which
// it does: a path that is a regular file stands for itself, a directory for
// its names in byte order without those that begin with a dot. There is no
// filter by extension: "x.yaml.bak" is a manifest.
//
// Two things differ from the kubelet on purpose. It takes a directory that is
// missing, and one that it may not list, for one without pods, and ends all of
// its static pods; here both are errors, because nobody knows which pods were
// meant.
//
// Mirrors kubelet pkg/kubelet/config/file.go listConfig and extractFromDir,
// v1.37.
func list(path string) ([]string, error) {
	path = strings.TrimRight(path, string(os.PathSeparator))
	if path == "" {
		return nil, errors.New("no directory is known: set kubelet.staticPodPath, or the kubelet's own")
	}
	info, err := os.Stat(path)
	switch {
	case err != nil && unseen(path, err) != "":
		return nil, hiddenDirectory(path, err)
	case err != nil:
		return nil, fmt.Errorf("look at the manifest directory: %w", err)
	case info.Mode().IsRegular():
		return []string{path}, nil
	case !info.IsDir():
		return nil, fmt.Errorf("manifest directory %s: neither a directory nor a file", path)
	case strings.ContainsAny(path, `*?[\`):
		// The kubelet puts the directory's name into a glob pattern.
		return nil, fmt.Errorf("manifest directory %s: the kubelet reads the name as a pattern; use one without * ? [ and \\", path)
	}
	entries, err := os.ReadDir(path)
	switch {
	case err != nil && unseen(path, err) != "":
		return nil, hiddenDirectory(path, err)
	case err != nil:
		return nil, fmt.Errorf("list the manifest directory: %w", err)
	}
	paths := make([]string, 0, len(entries))
	for _, entry := range entries { // ReadDir sorts by name
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		// A symbolic link may lead to a directory; the read finds that out.
		if entry.IsDir() {
			continue
		}
		paths = append(paths, filepath.Join(path, entry.Name()))
	}
	return paths, nil
}

// hiddenDirectory is not fs.ErrNotExist: it may be there for the kubelet.
func hiddenDirectory(path string, err error) error {
	return fmt.Errorf("manifest directory: nodekeeper cannot see %s (%v), while the kubelet may: let it read that (ProtectHome= of its unit, permissions)", unseen(path, err), bare(err))
}
