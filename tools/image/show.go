package main

import (
	"archive/tar"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/nodekeeper/nodekeeper/tools/image/oci"
	"github.com/nodekeeper/nodekeeper/tools/image/program"
)

// errFound ends a search.
var errFound = errors.New("found")

// show lists what is in one platform's image, or writes one file of it.
func show(_ context.Context, args []string) error {
	f := flag.NewFlagSet("show", flag.ExitOnError)
	layout := f.String("layout", "../../_output/image", "the layout that build has written")
	platform := f.String("platform", "linux/amd64", "which of its images")
	if err := f.Parse(args); err != nil {
		return err
	}
	on, err := program.ParsePlatform(*platform)
	if err != nil {
		return err
	}
	image, err := imageFor(*layout, on)
	if err != nil {
		return err
	}
	switch f.NArg() {
	case 0:
		return oci.Entries(image, func(h *tar.Header, _ io.Reader) error {
			_, err := fmt.Printf("%s %9d /%s\n", fs.FileMode(h.Mode), h.Size, h.Name)
			return err
		})
	case 1:
		return cat(image, f.Arg(0))
	}
	return errors.New("show: want at most one file")
}

func imageFor(layout string, on program.Platform) (v1.Image, error) {
	index, err := oci.Open(layout)
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	for _, m := range manifest.Manifests {
		if m.Platform != nil && m.Platform.OS == on.OS && m.Platform.Architecture == on.Architecture {
			return index.Image(m.Digest)
		}
	}
	return nil, fmt.Errorf("the layout %s has no image for %s", layout, on)
}

func cat(image v1.Image, name string) error {
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	err := oci.Entries(image, func(h *tar.Header, in io.Reader) error {
		if h.Name != name || h.Typeflag != tar.TypeReg {
			return nil
		}
		if _, err := io.Copy(os.Stdout, in); err != nil {
			return err
		}
		return errFound
	})
	switch {
	case errors.Is(err, errFound):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("the image has no file /%s", name)
}
