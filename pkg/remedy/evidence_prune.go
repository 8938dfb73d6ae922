package remedy

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// actDirectory are the names that save gives: nothing else is ever removed.
var actDirectory = regexp.MustCompile(`^\d{8}T\d{6}\.\d{3}Z-`)

// pruneTime is the share of the time that making room may take.
const pruneTime = 3 * time.Second

// prune removes the oldest evidence until there is room for one more act
// within the limits. The names sort by time.
func (a *archive) prune(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, pruneTime)
	defer cancel()
	entries, err := os.ReadDir(a.dir)
	if err != nil {
		return
	}
	count, bytes, full := 1, a.limits.actBytes, false
	for _, entry := range slices.Backward(entries) {
		if !entry.IsDir() || !actDirectory.MatchString(entry.Name()) {
			continue
		}
		if ctx.Err() != nil {
			return
		}
		path := filepath.Join(a.dir, entry.Name())
		count, bytes = count+1, bytes+sizeOf(path)
		// Once full, also whatever is older goes: a gap in the middle would be
		// worse than a shorter past.
		full = full || count > a.limits.directories || bytes > a.limits.bytes
		if full {
			os.RemoveAll(path)
		}
	}
}

func sizeOf(dir string) int64 {
	var sum int64
	filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return nil
	})
	return sum
}
