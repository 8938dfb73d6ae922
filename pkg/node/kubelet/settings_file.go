package kubelet

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/internal/regularfile"
)

// settingsFile is one file of the kubelet's configuration, or a place where
// one was looked for in vain. It is comparable: equal means unchanged.
type settingsFile struct {
	path   string
	dropIn bool
	id     regularfile.Identity
	// failure is why there is no identity, in words; empty if there is one.
	failure string
	missing bool
}

// stat lists the files that make up the configuration now: the candidates for
// the main file up to the first that exists, then the drop-ins in the order in
// which they apply.
func (r *SettingsReader) stat() []settingsFile {
	files := make([]settingsFile, 0, len(r.cfg.Config)+4)
	for _, path := range r.cfg.Config {
		file := statSettings(path)
		files = append(files, file)
		if !file.missing {
			break
		}
	}
	return slices.Concat(files, r.statDropIns())
}

// statDropIns walks the drop-in directory: all names that end in ".conf", also
// in sub-directories, in the byte order of each directory. The directory must
// exist if it is configured.
//
// Mirrors kubelet cmd/kubelet/app/server.go mergeKubeletConfigurations, v1.37.
func (r *SettingsReader) statDropIns() (files []settingsFile) {
	if r.cfg.ConfigDir == "" {
		return nil
	}
	_ = filepath.WalkDir(r.cfg.ConfigDir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			files = append(files, settingsFile{path: path, dropIn: true, failure: inWords(err)})
			if entry != nil && entry.IsDir() {
				return fs.SkipDir
			}
		case !entry.IsDir() && filepath.Ext(path) == ".conf":
			file := statSettings(path)
			file.dropIn = true
			files = append(files, file)
		}
		return nil
	})
	return files
}

func statSettings(path string) settingsFile {
	id, err := regularfile.Stat(path)
	file := settingsFile{path: path, id: id}
	if err != nil {
		file.failure = inWords(err)
		file.missing = errors.Is(err, fs.ErrNotExist)
	}
	return file
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

// settled tells whether the identities of files that were read at the given
// time prove their content.
func settled(files []settingsFile, read time.Time) bool {
	for _, file := range files {
		if file.failure == "" && !file.id.Settled(read) {
			return false
		}
	}
	return true
}
