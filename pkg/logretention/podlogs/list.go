package podlogs

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// MostNames bounds what is read of one directory: a pod that may write there
// could fill it with names.
const MostNames = 4096

// Files are all files of one container's directory, by attempt and in the order
// of writing: rotated ones by their time, the file that is being written last.
// Of a rotation that is being compressed there may be both files, the plain one
// first. A missing directory is fs.ErrNotExist, a link in its place an error.
func Files(dir string) ([]File, error) {
	names, err := Names(dir)
	var files []File
	for _, name := range names {
		if f, ok := ParseFile(name); ok {
			files = append(files, f)
		}
	}
	slices.SortFunc(files, func(a, b File) int {
		return cmp.Or(cmp.Compare(a.Attempt, b.Attempt), last(a)-last(b),
			cmp.Compare(a.Rotated, b.Rotated), cmp.Compare(a.Name, b.Name))
	})
	return files, err
}

func last(f File) int {
	if f.Rotated == "" {
		return 1
	}
	return 0
}

// Names are the names in a directory, at most MostNames, in no order.
func Names(dir string) ([]string, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open directory", Path: dir, Err: err}
	}
	d := os.NewFile(uintptr(fd), dir)
	defer d.Close()
	names, err := d.Readdirnames(MostNames)
	if err != nil && !errors.Is(err, io.EOF) {
		return names, fmt.Errorf("read directory: %w", err)
	}
	return names, nil
}
