package reader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Files are the files below a record root, or below podLogsDir. Names are slash
// paths relative to it. A file that does not exist is fs.ErrNotExist.
//
// A file that Open returns may also be an io.ReaderAt with a method
// Size() (int64, error): then a tail is found by seeking. Files that are also a
// Directory can be searched without an index, and followed.
type Files interface {
	Open(ctx context.Context, name string) (io.ReadCloser, error)
}

// Directory lists the names in a directory, "." for the root, in any order.
type Directory interface {
	List(ctx context.Context, name string) ([]string, error)
}

// seekable is what the files of a Dir are.
type seekable interface {
	io.ReadCloser
	io.ReaderAt
	Size() (int64, error)
}

// Dir is Files on this machine. Nothing outside the directory is ever opened,
// and nothing but regular files: pods can own such directories. It may be used
// concurrently.
type Dir struct{ root *os.Root }

// Local opens a directory of this machine. The caller closes it.
func Local(root string) (*Dir, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	return &Dir{root: r}, nil
}

// Close gives the directory back. Open files stay open.
func (d *Dir) Close() error { return d.root.Close() }

// Open opens a regular file.
func (d *Dir) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	name = filepath.FromSlash(name)
	// Opening a device can act on it, so that nothing is opened before it is
	// known to be a file. If a FIFO has taken its name since, openFile opens
	// that at once and the second look refuses it.
	if info, err := d.root.Stat(name); err != nil {
		return nil, err
	} else if err := regular(name, info); err != nil {
		return nil, err
	}
	file, err := d.root.OpenFile(name, openFile, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil {
		err = regular(name, info)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return localFile{file}, nil
}

func regular(name string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: not a regular file", name)
	}
	return nil
}

// List names what is in a directory.
func (d *Dir) List(ctx context.Context, name string) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	dir, err := d.root.OpenFile(filepath.FromSlash(name), openDir, 0)
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	return names, errors.Join(err, dir.Close())
}

// same tells whether a name still leads to an open file.
func (d *Dir) same(name string, file localFile) (bool, error) {
	now, err := d.root.Stat(filepath.FromSlash(name))
	if err != nil {
		return false, err
	}
	was, err := file.Stat()
	return err == nil && os.SameFile(now, was), err
}

type localFile struct{ *os.File }

func (f localFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// readSmall reads one of the JSON files. A bound keeps whoever serves it from
// filling the memory.
func readSmall(ctx context.Context, files Files, name string, limit int64) ([]byte, error) {
	file, err := files.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s: more than %d bytes", name, limit)
	}
	return data, nil
}
