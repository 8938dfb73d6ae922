// Package oci makes nodekeeper's image: an index with one image for each
// platform of a node, from nothing but programs and texts.
package oci

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// file is one regular file of an image. Its bytes are at source, if that is
// named, or in text.
type file struct {
	// name is its path in the image without the slash in front.
	name   string
	mode   int64
	source string
	text   []byte
}

func (f file) open() (io.ReadCloser, int64, error) {
	if f.source == "" {
		return io.NopCloser(bytes.NewReader(f.text)), int64(len(f.text)), nil
	}
	in, err := os.Open(f.source)
	if err != nil {
		return nil, 0, err
	}
	info, err := in.Stat()
	if err != nil {
		in.Close()
		return nil, 0, err
	}
	return in, info.Size(), nil
}

// archive writes the files, and the directories that they are in, in the order of
// their names, all root's and of one time.
func archive(to io.Writer, files []file, when time.Time) error {
	out := tar.NewWriter(to)
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	made := map[string]bool{".": true}
	for _, f := range files {
		if err := directories(out, path.Dir(f.name), made, when); err != nil {
			return err
		}
		if err := add(out, f, when); err != nil {
			return fmt.Errorf("put %s into the image: %w", f.name, err)
		}
	}
	return out.Close()
}

func directories(out *tar.Writer, dir string, made map[string]bool, when time.Time) error {
	if made[dir] {
		return nil
	}
	if err := directories(out, path.Dir(dir), made, when); err != nil {
		return err
	}
	made[dir] = true
	return out.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, ModTime: when})
}

func add(out *tar.Writer, f file, when time.Time) error {
	in, size, err := f.open()
	if err != nil {
		return err
	}
	defer in.Close()
	if err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: size, ModTime: when}); err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return err
}
