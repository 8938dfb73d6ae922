// Command prepare installs the browser, and puts axe-core into the cache.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/nodekeeper/nodekeeper/test/report/axe"
)

func main() {
	if err := errors.Join(browser(), script()); err != nil {
		fmt.Fprintln(os.Stderr, "prepare:", err)
		os.Exit(1)
	}
}

// fonts are what a page is shown with; without them it has no letters at all.
var fonts = []string{"fonts-dejavu-core", "fonts-noto-color-emoji"}

// browser installs Chromium where it is missing.
func browser() error {
	if _, err := exec.LookPath("chromium"); err == nil {
		return nil
	}
	commands := [][]string{{"apt-get", "update"}, append([]string{"apt-get", "install", "-y", "--no-install-recommends", "chromium"}, fonts...)}
	if _, err := exec.LookPath("dnf"); err == nil {
		commands = [][]string{{"dnf", "install", "-y", "chromium-headless", "dejavu-sans-fonts", "google-noto-color-emoji-fonts"}}
	}
	for _, args := range commands {
		fmt.Println(strings.Join(args, " "))
		if err := run("", args...); err != nil {
			return err
		}
	}
	return nil
}

// script fetches axe-core from the npm registry.
func script() error {
	path, err := axe.Path()
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	dir, err := os.MkdirTemp("", "axe-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Println("npm pack axe-core@" + axe.Version)
	if err := run(dir, "npm", "pack", "--silent", "axe-core@"+axe.Version); err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(dir, "axe-core-"+axe.Version+".tgz"))
	if err != nil {
		return err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != axe.SHA256 {
		return fmt.Errorf("axe-core %s has the checksum %x, want %s", axe.Version, sum, axe.SHA256)
	}
	text, err := unpack(data, "package/axe.min.js")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temporary := fmt.Sprintf("%s.%d", path, os.Getpid())
	return errors.Join(os.WriteFile(temporary, text, 0o644), os.Rename(temporary, path))
}

func unpack(data []byte, name string) ([]byte, error) {
	gz, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	for in := tar.NewReader(gz); ; {
		h, err := in.Next()
		if err != nil {
			return nil, fmt.Errorf("find %s: %w", name, err)
		}
		if h.Name == name {
			return io.ReadAll(in)
		}
	}
}

func run(dir string, args ...string) error {
	c := exec.Command(args[0], args[1:]...)
	c.Dir = dir
	c.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}
