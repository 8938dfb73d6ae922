// Package content makes what is delivered, whatever it is wrapped in: programs,
// the licences of all that is in them, and their bill of materials.
package content

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/nodekeeper/nodekeeper/tools/image/licence"
	"github.com/nodekeeper/nodekeeper/tools/image/program"
	"github.com/nodekeeper/nodekeeper/tools/image/sbom"
)

// Program is one that was compiled.
type Program struct {
	// Name is its path where it is delivered, At where its bytes are now.
	Name, At string
	// SHA256 is the digest of its bytes in hex.
	SHA256  string
	Modules []licence.Module
}

// Compile compiles one into the directory work, which must exist.
func Compile(ctx context.Context, s program.Source, p program.Program, on program.Platform, work, name string) (Program, error) {
	at := filepath.Join(work, on.OS+"-"+on.Architecture+"-"+path.Base(name))
	if err := s.Compile(ctx, p, on, at); err != nil {
		return Program{}, err
	}
	sum, err := Digest(at)
	if err != nil {
		return Program{}, err
	}
	modules, err := licence.Linked(at)
	return Program{Name: name, At: at, SHA256: sum, Modules: modules}, err
}

// Digest is that of a file, in hex.
func Digest(path string) (string, error) {
	in, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("take a digest: %w", err)
	}
	defer in.Close()
	h := sha256.New()
	if _, err := io.Copy(h, in); err != nil {
		return "", fmt.Errorf("take the digest of %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Papers are what goes with programs.
type Papers struct {
	// Licences are texts by MODULE@VERSION/FILE; the project's own is LICENSE.
	Licences map[string][]byte
	// SBOM is SPDX in JSON.
	SBOM []byte
}

// Write writes the papers of programs that are delivered together under a name.
func Write(ctx context.Context, s program.Source, name string, when time.Time, programs []Program) (Papers, error) {
	cache, err := cacheOf(ctx, s)
	if err != nil {
		return Papers{}, err
	}
	own, err := os.ReadFile(filepath.Join(s.Root, "LICENSE"))
	if err != nil {
		return Papers{}, fmt.Errorf("read the project's own licence: %w", err)
	}
	papers := Papers{Licences: map[string][]byte{"LICENSE": own}}
	bill := sbom.Bill{Name: name, Version: s.Version, Created: when}
	var modules [][]licence.Module
	for _, p := range programs {
		bill.Parts = append(bill.Parts, sbom.Part{Name: "/" + p.Name, SHA256: p.SHA256, Modules: p.Modules})
		modules = append(modules, p.Modules)
	}
	for _, m := range licence.Union(modules...) {
		l, err := cache.Of(m)
		if err != nil {
			return Papers{}, err
		}
		bill.Licences = append(bill.Licences, l)
		for _, t := range l.Texts {
			papers.Licences[path.Join(m.String(), t.Name)] = t.Text
		}
	}
	papers.SBOM, err = bill.Document()
	return papers, err
}

func cacheOf(ctx context.Context, s program.Source) (licence.Cache, error) {
	modules, err := s.Setting(ctx, "GOMODCACHE")
	if err != nil {
		return licence.Cache{}, err
	}
	root, err := s.Setting(ctx, "GOROOT")
	return licence.Cache{Modules: modules, Root: root}, err
}
