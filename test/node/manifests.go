package node

import (
	"os"
	"path/filepath"
)

// PutManifest writes a static pod's manifest in one step, through a dot file,
// which the kubelet does not read.
func (b *Box) PutManifest(name string, content []byte) error {
	return b.WriteFile(filepath.Join(ManifestDir, name), content, 0o600)
}

// RemoveManifest takes a static pod away.
func (b *Box) RemoveManifest(name string) error {
	return b.RemoveFile(filepath.Join(ManifestDir, name))
}

// RenameManifest gives a manifest another file name; with a leading dot the
// kubelet does not see it.
func (b *Box) RenameManifest(from, to string) error {
	dir, err := b.Path(ManifestDir)
	if err != nil {
		return err
	}
	return os.Rename(filepath.Join(dir, from), filepath.Join(dir, to))
}
