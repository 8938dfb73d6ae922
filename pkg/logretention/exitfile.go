package logretention

import (
	"os"
	"path/filepath"
	"time"

	"github.com/nodekeeper/nodekeeper/internal/regularfile"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/ending"
)

// exitFiles is what conmon left of a container in its persistent directory
// (src/conmon.c and src/cgroup.c, v2.2): exit holds the code, and is written
// once the log is complete and synced; oom is empty.
type exitFiles struct {
	// Looked is set when there is such a directory, so that what is missing in
	// it is known to be missing.
	Looked bool
	Code   *int32
	OOM    bool
	// Written is when the exit file was.
	Written time.Time
}

// maxExitFile is larger than any number in it.
const maxExitFile = 64

// readExitFiles looks for a container's persistent directory. The bundle is
// CRI-O's run directory of it (/run/containers/storage/overlay-containers/
// ID/userdata); the persistent one has the same name below the storage root.
func readExitFiles(storage, bundle, id string) exitFiles {
	for _, dir := range []string{
		filepath.Join(storage, containersDir(bundle), id, "userdata"),
		bundle,
	} {
		if dir == "" {
			continue
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			continue
		}
		found := exitFiles{Looked: true}
		if f, err := regularfile.Read(filepath.Join(dir, "exit"), maxExitFile); err == nil {
			if code, err := ending.ParseExit(f.Data); err == nil {
				found.Code, found.Written = &code, f.Identity.ModTime()
			}
		}
		if _, err := regularfile.Stat(filepath.Join(dir, "oom")); err == nil {
			found.OOM = true
		}
		return found
	}
	return exitFiles{}
}

// containersDir is named after the storage driver. Without a bundle it is the
// one that every CRI-O node has.
func containersDir(bundle string) string {
	if bundle == "" {
		return "overlay-containers"
	}
	return filepath.Base(filepath.Dir(filepath.Dir(bundle)))
}
