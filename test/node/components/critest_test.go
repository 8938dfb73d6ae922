package components

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"testing"
)

func TestCritestLayer(t *testing.T) {
	archive, err := critestLayer([]byte("busybox"), []string{"busybox", "pgrep", "sh"})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*tar.Header{}
	for reader := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if found[header.Name] != nil {
			t.Errorf("%s is there twice", header.Name)
		}
		found[header.Name] = header
	}
	for name, kind := range map[string]byte{"bin/busybox": tar.TypeReg, "bin/pgrep": tar.TypeReg, "bin/sh": tar.TypeLink, "tmp/": tar.TypeDir} {
		if found[name] == nil || found[name].Typeflag != kind {
			t.Errorf("%s: %+v", name, found[name])
		}
	}
}
