package node

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Path is where a path of the box is found from outside, with all mounts of
// the box. It is good until the next reboot, and must not lead over absolute
// symbolic links, which would lead outside (/var/run is one).
func (b *Box) Path(path string) (string, error) {
	leader, err := b.super.leader()
	if err != nil {
		return "", err
	}
	return filepath.Join(fmt.Sprintf("/proc/%d/root", leader), path), nil
}

// ReadFile reads a file of the box.
func (b *Box) ReadFile(path string) ([]byte, error) {
	outside, err := b.Path(path)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(outside)
}

// WriteFile writes a file of the box in one step; missing folders are made.
func (b *Box) WriteFile(path string, content []byte, mode os.FileMode) error {
	outside, err := b.Path(path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(outside), 0o755); err != nil {
		return err
	}
	temporary := filepath.Join(filepath.Dir(outside), "."+filepath.Base(path)+".new")
	if err := os.WriteFile(temporary, content, mode); err != nil {
		return err
	}
	return os.Rename(temporary, outside)
}

// RemoveFile removes a file of the box.
func (b *Box) RemoveFile(path string) error {
	outside, err := b.Path(path)
	if err != nil {
		return err
	}
	return os.Remove(outside)
}

// BootID is the box's own; it changes with each of its boots.
func (b *Box) BootID() (string, error) {
	stdout, err := b.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(stdout)), err
}
