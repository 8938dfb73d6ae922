package kubelet

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodekeeper/nodekeeper/internal/regularfile"
)

// maxSettings bounds one configuration file. The kubelet has no bound; its own
// default configuration has 2 KiB.
const maxSettings = 1 << 20

// settingsFile is a file of the kubelet's configuration as it is now, or a
// directory of drop-ins.
type settingsFile struct {
	path        string
	dropIn, dir bool
	changed     time.Time
	// layer holds the fields that are good; err says what is not.
	layer map[string]any
	err   error
}

// listSettings reads the files of a configuration in the order in which they
// apply: the main file, then the drop-in directory with all names that end in
// ".conf", also in sub-directories, in the byte order of each directory. Either
// path may be empty.
//
// Mirrors kubelet cmd/kubelet/app/server.go mergeKubeletConfigurations, v1.37.
func listSettings(main, dropIns, workDir string) []settingsFile {
	var files []settingsFile
	if main != "" {
		files = append(files, readSettings(main, filepath.Dir(main), false))
	}
	if dropIns == "" {
		return files
	}
	_ = filepath.WalkDir(dropIns, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			files = append(files, settingsFile{path: path, dropIn: true, err: atFault(path, err)})
			if entry != nil && entry.IsDir() {
				return fs.SkipDir
			}
		case entry.IsDir():
			dir := settingsFile{path: path, dropIn: true, dir: true}
			dir.changed, dir.err = changedAt(path)
			files = append(files, dir)
		case filepath.Ext(path) == ".conf":
			files = append(files, readSettings(path, workDir, true))
		}
		return nil
	})
	return files
}

// readSettings reads one file. A relative manifest path in it counts from base:
// the directory of the main file, but for a drop-in the kubelet's working
// directory (kubelet pkg/kubelet/kubeletconfig/configfiles/configfiles.go Load
// and LoadIntoJSON, v1.37).
func readSettings(path, base string, dropIn bool) settingsFile {
	file := settingsFile{path: path, dropIn: dropIn}
	read, err := regularfile.Read(path, maxSettings)
	if err == nil {
		file.layer, err = decodeSettings(read.Data, dropIn)
		file.changed = time.Unix(0, read.Identity.Changed)
		if link, _ := changedAt(path); link.After(file.changed) {
			file.changed = link
		}
	}
	if err != nil {
		file.err = atFault(path, err)
	}
	if manifests, _ := file.layer[fieldStaticPodPath].(string); manifests != "" && !filepath.IsAbs(manifests) {
		file.layer[fieldStaticPodPath] = filepath.Join("/", base, manifests)
	}
	return file
}

// changedAt is when a path was changed last: for a directory, when it got or lost
// a name; for a link, when it was made to lead elsewhere.
func changedAt(path string) (time.Time, error) {
	var stat unix.Stat_t
	if err := unix.Lstat(path, &stat); err != nil {
		return time.Time{}, atFault(path, err)
	}
	return time.Unix(stat.Ctim.Unix()), nil
}

// atFault is one line; callers tell apart what is missing and what is another
// kind of file.
func atFault(path string, err error) error {
	for _, kind := range []error{fs.ErrNotExist, errNotConfiguration} {
		if errors.Is(err, kind) {
			return fmt.Errorf("kubelet configuration %s: %w", path, kind)
		}
	}
	return fmt.Errorf("kubelet configuration %s: %s", path, inWords(err))
}

// inForce is what one process has read of its configuration, by path: what the
// files held when it started. It has the files that were there when the process
// was first seen, and no others.
type inForce map[string]fileInForce

type fileInForce struct {
	settingsFile
	// lost is set where nobody knows what the process has read: the file had
	// changed since when it was first seen, or cannot be read.
	lost bool
}

// inForceNow is what the files say that the process has read.
type inForceNow struct {
	layers []map[string]any
	// unread are files that have changed, come or gone since the process began.
	unread []string
	lost   bool
	err    error
}

// update compares the files with those that the process has read. It began at
// the given time; the zero time stands for one that has read them as they are.
// What is once known to have been read does not change any more, whatever the
// clock or an older file that is put in its place may say.
func (f inForce) update(files []settingsFile, began time.Time) inForceNow {
	var now inForceNow
	var errs []error
	if began.IsZero() {
		clear(f)
	}
	first := len(f) == 0
	there := map[string]bool{}
	for _, file := range files {
		there[file.path] = true
		errs = append(errs, file.err)
		old, seen := f[file.path]
		readable := file.dir || file.layer != nil
		switch {
		case seen && !old.lost && (file.dir || reflect.DeepEqual(old.layer, file.layer)):
		case (first || old.lost) && readable && file.changed.Before(began), began.IsZero():
			f[file.path] = fileInForce{file, false}
		default:
			now.unread = append(now.unread, file.path)
			if first {
				f[file.path] = fileInForce{file, true}
			}
		}
	}
	all := make([]fileInForce, 0, len(f))
	for path, file := range f {
		all = append(all, file)
		if !there[path] {
			now.unread = append(now.unread, path)
		}
	}
	slices.SortFunc(all, func(a, b fileInForce) int { return inOrder(a.settingsFile, b.settingsFile) })
	for _, file := range all {
		now.lost = now.lost || file.lost
		now.layers = append(now.layers, file.layer)
	}
	slices.Sort(now.unread)
	now.err = oneError(errs...)
	return now
}

// inOrder has the main file first, and drop-ins as a walk finds them.
func inOrder(a, b settingsFile) int {
	if a.dropIn != b.dropIn {
		if b.dropIn {
			return -1
		}
		return 1
	}
	return slices.Compare(strings.Split(a.path, "/"), strings.Split(b.path, "/"))
}

// inWords is an error without its path and on one line.
func inWords(err error) string {
	var named *fs.PathError
	switch {
	case errors.As(err, &named):
		err = named.Err
	case errors.Is(err, regularfile.ErrNotRegular):
		err = regularfile.ErrNotRegular
	case errors.Is(err, regularfile.ErrTooLarge):
		err = fmt.Errorf("%w (%d MiB or more)", regularfile.ErrTooLarge, maxSettings>>20)
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}
