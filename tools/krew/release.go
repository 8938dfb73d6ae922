package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
)

const plugin = "kubectl-nodekeeper"

// platforms are those that krew users have, and for which there are builds.
var platforms = [][2]string{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

// release is what is made of the builds of one version.
type release struct {
	version, builds, licence, template, to string
}

// archive is one packed build, as the template knows it.
type archive struct {
	OS, Arch string
	// Name is the file's, Program that of the program in it.
	Name, Program string
	SHA256        string
}

// semantic is what krew takes for a version.
var semantic = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// write packs all builds; one that is missing is an error. Equal builds make equal
// archives.
func (r release) write() error {
	if !semantic.MatchString(r.version) {
		return fmt.Errorf("version %q is not of the form v1.2.3, which krew demands", r.version)
	}
	text, err := os.ReadFile(r.template)
	if err != nil {
		return err
	}
	manifest, err := template.New("manifest").Option("missingkey=error").Parse(string(text))
	if err != nil {
		return err
	}
	licence, err := os.ReadFile(r.licence)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(r.to, 0o755); err != nil {
		return err
	}
	of := struct {
		Version  string
		Archives []archive
	}{Version: r.version}
	for _, p := range platforms {
		a := archive{OS: p[0], Arch: p[1], Program: plugin}
		build := strings.Join([]string{plugin, a.OS, a.Arch}, "-")
		a.Name = build + ".tar.gz"
		if a.OS == "windows" {
			a.Program += ".exe"
		}
		program, err := os.ReadFile(filepath.Join(r.builds, build))
		if err != nil {
			return fmt.Errorf("%w: make build-plugin", err)
		}
		packed, err := pack(a.Program, program, licence)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(packed)
		a.SHA256 = hex.EncodeToString(sum[:])
		if err := os.WriteFile(filepath.Join(r.to, a.Name), packed, 0o644); err != nil {
			return err
		}
		of.Archives = append(of.Archives, a)
	}
	var out bytes.Buffer
	if err := manifest.Execute(&out, of); err != nil {
		return err
	}
	_, whole, _ := strings.Cut(out.String(), "\n") // the remark on the template
	return os.WriteFile(filepath.Join(r.to, "nodekeeper.yaml"), []byte(whole), 0o644)
}

// pack makes a tar.gz without times and owners.
func pack(name string, program, licence []byte) ([]byte, error) {
	var out bytes.Buffer
	gz, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // a level that exists
	archive := tar.NewWriter(gz)
	var errs []error
	for _, f := range []struct {
		name string
		mode int64
		data []byte
	}{{name, 0o755, program}, {"LICENSE", 0o644, licence}} {
		errs = append(errs, archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.data)), Format: tar.FormatUSTAR}))
		_, err := archive.Write(f.data)
		errs = append(errs, err)
	}
	if err := errors.Join(append(errs, archive.Close(), gz.Close())...); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
