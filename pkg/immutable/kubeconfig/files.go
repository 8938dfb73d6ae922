package kubeconfig

import (
	"time"

	"github.com/nodekeeper/nodekeeper/internal/regularfile"
)

// Files notices changes of some files for the price of a stat each. The zero
// value has seen none. It belongs to one goroutine.
type Files struct {
	seen map[string]regularfile.Identity
	at   time.Time
}

// reread is how long a file that changed a moment ago, and that could have
// changed again within the same time stamp, is not read again.
const reread = 100 * time.Millisecond

// See remembers the files as they are. It comes before they are read, so that
// what changes in between is seen as a change later.
func (f *Files) See(now time.Time, files ...string) {
	f.seen, f.at = make(map[string]regularfile.Identity, len(files)), now
	f.Also(files...)
}

// Also remembers more files, which those that were seen name.
func (f *Files) Also(files ...string) {
	for _, file := range files {
		if _, known := f.seen[file]; !known {
			f.seen[file], _ = regularfile.Stat(file)
		}
	}
}

// Changed tells whether the files may have changed since See.
func (f *Files) Changed(now time.Time) bool {
	if f.seen == nil {
		return true
	}
	fresh := now.Sub(f.at).Abs() < reread
	for file, was := range f.seen {
		is, _ := regularfile.Stat(file)
		if is != was || is != (regularfile.Identity{}) && !fresh && !is.Settled(f.at) {
			return true
		}
	}
	return false
}
