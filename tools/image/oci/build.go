package oci

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

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/nodekeeper/nodekeeper/tools/image/licence"
	"github.com/nodekeeper/nodekeeper/tools/image/program"
	"github.com/nodekeeper/nodekeeper/tools/image/sbom"
)

// Build is what an image is made from. The same build makes the same digest,
// wherever and whenever.
type Build struct {
	Source program.Source
	// Revision is the commit of the source; Time, to the second, that of all files
	// and of the image.
	Revision string
	Time     time.Time
	// Platforms are those of nodes, one image each.
	Platforms []program.Platform
	// Programs lie at the image's top, for its own platform.
	Programs []program.Program
	// Plugin lies below /plugins for each of the PluginPlatforms.
	Plugin          program.Program
	PluginPlatforms []program.Platform
}

// Image is one platform's.
type Image struct {
	Platform program.Platform
	Image    v1.Image
	// SBOM is the same document as /sbom.spdx.json.
	SBOM []byte
}

// linked is a compiled program and what is known of it.
type linked struct {
	file
	sbom.Part
}

// Images compiles the programs into the directory work, which must exist, and
// puts the images together. The layers are read from there until the images are
// written.
func (b Build) Images(ctx context.Context, work string) ([]Image, error) {
	cache, err := b.cache(ctx)
	if err != nil {
		return nil, err
	}
	var plugins []linked
	for _, on := range b.PluginPlatforms {
		name := "plugins/" + b.Plugin.Name + "-" + on.OS + "-" + on.Architecture
		if on.OS == "windows" {
			name += ".exe"
		}
		l, err := b.compile(ctx, b.Plugin, on, work, name)
		if err != nil {
			return nil, err
		}
		plugins = append(plugins, l)
	}
	// The same layer for all platforms.
	shared, err := layer(filepath.Join(work, "plugins.tar.gz"), files(plugins), b.Time)
	if err != nil {
		return nil, err
	}
	var out []Image
	for _, on := range b.Platforms {
		var own []linked
		for _, p := range b.Programs {
			l, err := b.compile(ctx, p, on, work, p.Name)
			if err != nil {
				return nil, err
			}
			own = append(own, l)
		}
		i, err := b.image(cache, on, work, own, plugins, shared)
		if err != nil {
			return nil, err
		}
		out = append(out, i)
	}
	return out, nil
}

func (b Build) cache(ctx context.Context) (licence.Cache, error) {
	modules, err := b.Source.Setting(ctx, "GOMODCACHE")
	if err != nil {
		return licence.Cache{}, err
	}
	root, err := b.Source.Setting(ctx, "GOROOT")
	return licence.Cache{Modules: modules, Root: root}, err
}

func (b Build) compile(ctx context.Context, p program.Program, on program.Platform, work, name string) (linked, error) {
	at := filepath.Join(work, on.OS+"-"+on.Architecture+"-"+filepath.Base(name))
	if err := b.Source.Compile(ctx, p, on, at); err != nil {
		return linked{}, err
	}
	sum, err := digest(at)
	if err != nil {
		return linked{}, err
	}
	modules, err := licence.Linked(at)
	if err != nil {
		return linked{}, err
	}
	return linked{file{name: name, mode: 0o755, source: at}, sbom.Part{Name: "/" + name, SHA256: sum, Modules: modules}}, nil
}

func digest(path string) (string, error) {
	in, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("take the digest of a program: %w", err)
	}
	defer in.Close()
	h := sha256.New()
	if _, err := io.Copy(h, in); err != nil {
		return "", fmt.Errorf("take the digest of %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// image is one platform's, of three layers: the programs first, because they are
// what a node needs.
func (b Build) image(cache licence.Cache, on program.Platform, work string, own, plugins []linked, shared v1.Layer) (Image, error) {
	bill := sbom.Bill{Name: "nodekeeper-image-" + on.OS + "-" + on.Architecture, Version: b.Source.Version, Created: b.Time}
	var modules [][]licence.Module
	for _, l := range append(own[:len(own):len(own)], plugins...) {
		bill.Parts = append(bill.Parts, l.Part)
		modules = append(modules, l.Modules)
	}
	texts, licences, err := b.licences(cache, licence.Union(modules...))
	if err != nil {
		return Image{}, err
	}
	bill.Licences = licences
	document, err := bill.Document()
	if err != nil {
		return Image{}, err
	}
	texts = append(texts, file{name: "sbom.spdx.json", mode: 0o644, text: document})

	at := filepath.Join(work, on.OS+"-"+on.Architecture)
	programs, err := layer(at+"-programs.tar.gz", files(own), b.Time)
	if err != nil {
		return Image{}, err
	}
	papers, err := layer(at+"-papers.tar.gz", texts, b.Time)
	if err != nil {
		return Image{}, err
	}
	i, err := b.assemble(on, programs, shared, papers)
	return Image{on, i, document}, err
}

// licences are the project's own and those of the modules, and their texts below
// /licenses.
func (b Build) licences(cache licence.Cache, modules []licence.Module) ([]file, []licence.Licence, error) {
	own, err := os.ReadFile(filepath.Join(b.Source.Root, "LICENSE"))
	if err != nil {
		return nil, nil, fmt.Errorf("read the project's own licence: %w", err)
	}
	texts := []file{{name: "licenses/LICENSE", mode: 0o644, text: own}}
	var all []licence.Licence
	for _, m := range modules {
		l, err := cache.Of(m)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, l)
		for _, t := range l.Texts {
			texts = append(texts, file{name: path.Join("licenses", m.String(), t.Name), mode: 0o644, text: t.Text})
		}
	}
	return texts, all, nil
}

func files(of []linked) []file {
	out := make([]file, 0, len(of))
	for _, l := range of {
		out = append(out, l.file)
	}
	return out
}
