package oci

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// layer writes the files to path, compressed by the standard library, and is the
// layer that is read from there.
func layer(path string, files []file, when time.Time) (_ v1.Layer, err error) {
	out, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("write a layer: %w", err)
	}
	defer out.Close()
	buffer := bufio.NewWriter(out)
	packed := gzip.NewWriter(buffer)
	if err := archive(packed, files, when); err != nil {
		return nil, err
	}
	for _, end := range []func() error{packed.Close, buffer.Flush, out.Close} {
		if err := end(); err != nil {
			return nil, fmt.Errorf("write a layer: %w", err)
		}
	}
	l, err := tarball.LayerFromFile(path, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, fmt.Errorf("read a layer back: %w", err)
	}
	return l, nil
}
