package components

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// The images of a box. Both hold the workload program alone.
const (
	WorkloadImage = "localhost/nodekeeper/workload:latest"
	PauseImage    = "localhost/nodekeeper/pause:latest"
)

// imagesRecipe changes whenever the steps below do.
const imagesRecipe = "1"

// images returns a containers-storage folder (overlay driver) with the images.
func (b *Builder) images(ctx context.Context, program string) (string, error) {
	content, err := os.ReadFile(program)
	if err != nil {
		return "", err
	}
	return b.cached("images", key([]byte(imagesRecipe), content), func(dir string) error {
		return b.progress.step("making the workload image", func() error {
			image, err := Image(map[string][]byte{"workload": content})
			if err != nil {
				return fmt.Errorf("make the workload image: %w", err)
			}
			index := filepath.Join(dir, "layout")
			path, err := layout.Write(index, empty.Index)
			if err != nil {
				return fmt.Errorf("write the workload image: %w", err)
			}
			if err := path.AppendImage(image); err != nil {
				return fmt.Errorf("write the workload image: %w", err)
			}
			for _, name := range []string{WorkloadImage, PauseImage} {
				if err := store(ctx, index, dir, name); err != nil {
					return err
				}
			}
			return os.RemoveAll(index)
		})
	})
}

// Image runs the program /workload; these are its files, by name.
func Image(files map[string][]byte) (v1.Image, error) {
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	for _, folder := range []string{"tmp/", "etc/"} {
		if err := writer.WriteHeader(&tar.Header{Name: folder, Typeflag: tar.TypeDir, Mode: 0o755}); err != nil {
			return nil, err
		}
	}
	// In one order, or the digest would not be the same each time.
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := writer.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(files[name]))}); err != nil {
			return nil, err
		}
		if _, err := writer.Write(files[name]); err != nil {
			return nil, err
		}
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return oneLayer(archive.Bytes(), v1.Config{Entrypoint: []string{"/workload"}, Env: []string{"PATH=/"}})
}

// oneLayer is an image whose only layer is a tar archive.
func oneLayer(archive []byte, config v1.Config) (v1.Image, error) {
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(archive)), nil
	})
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file.Architecture, file.OS = runtime.GOARCH, "linux"
	file.Config = config
	return mutate.ConfigFile(image, file)
}

// store copies an image into the containers-storage below dir. In a mount
// namespace of its own: the overlay driver leaves a mount at its folder.
func store(ctx context.Context, index, dir, name string) error {
	runRoot, err := os.MkdirTemp("", "nodekeeper-images-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(runRoot)
	target := fmt.Sprintf("containers-storage:[overlay@%s+%s]%s", filepath.Join(dir, "storage"), runRoot, name)
	command := exec.CommandContext(ctx, "skopeo", "--insecure-policy", "copy", "oci:"+index, target)
	command.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("store image %s: %w: %s", name, err, lastLines(string(output), 3))
	}
	return nil
}
