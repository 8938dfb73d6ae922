package oci

import (
	"archive/tar"
	"io"
	"io/fs"
	"os/exec"
	"slices"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/nodekeeper/nodekeeper/tools/image/program"
)

// fetch has the modules in the cache.
func fetch(t *testing.T, s program.Source) {
	t.Helper()
	c := exec.CommandContext(t.Context(), s.Go, "list", "-deps", "./cmd/...")
	c.Dir = s.Root
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// contents are the regular files of an image by name.
func contents(t *testing.T, image v1.Image) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := Entries(image, func(h *tar.Header, in io.Reader) error {
		if h.Typeflag != tar.TypeReg {
			return nil
		}
		b, err := io.ReadAll(in)
		out[h.Name] = b
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func digestOf(t *testing.T, index v1.ImageIndex) string {
	t.Helper()
	d, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d.String()
}

// source is the repository without what is no source of the programs.
type source struct{ fs.FS }

func (s source) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(s.FS, name)
	return slices.DeleteFunc(all, func(d fs.DirEntry) bool {
		return name == "." && slices.Contains([]string{".git", "_output", "test", "tools", "docs"}, d.Name())
	}), err
}
