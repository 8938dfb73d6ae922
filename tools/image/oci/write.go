package oci

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// Write makes dir an OCI layout of the index alone; what was there is replaced.
func Write(dir string, index v1.ImageIndex, version string) error {
	next := dir + ".new"
	if err := os.RemoveAll(next); err != nil {
		return fmt.Errorf("write the layout %s: %w", dir, err)
	}
	p, err := layout.Write(next, empty.Index)
	if err != nil {
		return fmt.Errorf("write the layout %s: %w", dir, err)
	}
	name := map[string]string{"org.opencontainers.image.ref.name": version}
	if err := p.AppendIndex(index, layout.WithAnnotations(name)); err != nil {
		return fmt.Errorf("write the layout %s: %w", dir, err)
	}
	if err := errors.Join(os.RemoveAll(dir), os.Rename(next, dir)); err != nil {
		return fmt.Errorf("replace the layout %s: %w", dir, err)
	}
	return nil
}

// Archive writes a layout as one tar, which podman and skopeo call oci-archive.
func Archive(path, dir string, when time.Time) error {
	var files []file
	err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, at)
		files = append(files, file{name: filepath.ToSlash(name), mode: 0o644, source: at})
		return err
	})
	if err != nil {
		return fmt.Errorf("archive the layout %s: %w", dir, err)
	}
	out, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("archive the layout %s: %w", dir, err)
	}
	defer out.Close()
	if err := archive(out, files, when); err != nil {
		return err
	}
	return out.Close()
}

// Open is the index that Write has written to dir.
func Open(dir string) (v1.ImageIndex, error) {
	top, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, fmt.Errorf("open the layout %s: %w", dir, err)
	}
	manifest, err := top.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("open the layout %s: %w", dir, err)
	}
	if len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("the layout %s holds %d images instead of one", dir, len(manifest.Manifests))
	}
	index, err := top.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		return nil, fmt.Errorf("open the layout %s: %w", dir, err)
	}
	return index, nil
}

// Entries calls each for every entry of an image, layer by layer.
func Entries(image v1.Image, each func(*tar.Header, io.Reader) error) error {
	layers, err := image.Layers()
	if err != nil {
		return fmt.Errorf("read the image: %w", err)
	}
	for _, l := range layers {
		if err := entries(l, each); err != nil {
			return fmt.Errorf("read the image: %w", err)
		}
	}
	return nil
}

func entries(l v1.Layer, each func(*tar.Header, io.Reader) error) error {
	in, err := l.Uncompressed()
	if err != nil {
		return err
	}
	defer in.Close()
	for t := tar.NewReader(in); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := each(h, t); err != nil {
			return err
		}
	}
}
