package oci

import (
	"context"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/nodekeeper/nodekeeper/tools/image/content"
	"github.com/nodekeeper/nodekeeper/tools/image/program"
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

// Images compiles the programs into the directory work, which must exist, and
// puts the images together. The layers are read from there until the images are
// written.
func (b Build) Images(ctx context.Context, work string) ([]Image, error) {
	var plugins []content.Program
	for _, on := range b.PluginPlatforms {
		name := "plugins/" + b.Plugin.Name + "-" + on.OS + "-" + on.Architecture
		if on.OS == "windows" {
			name += ".exe"
		}
		p, err := content.Compile(ctx, b.Source, b.Plugin, on, work, name)
		if err != nil {
			return nil, err
		}
		plugins = append(plugins, p)
	}
	// The same layer for all platforms.
	shared, err := layer(filepath.Join(work, "plugins.tar.gz"), programs(plugins), b.Time)
	if err != nil {
		return nil, err
	}
	var out []Image
	for _, on := range b.Platforms {
		i, err := b.image(ctx, on, work, plugins, shared)
		if err != nil {
			return nil, err
		}
		out = append(out, i)
	}
	return out, nil
}

// image is one platform's, of three layers: the programs first, because they are
// what a node needs.
func (b Build) image(ctx context.Context, on program.Platform, work string, plugins []content.Program, shared v1.Layer) (Image, error) {
	var own []content.Program
	for _, p := range b.Programs {
		c, err := content.Compile(ctx, b.Source, p, on, work, p.Name)
		if err != nil {
			return Image{}, err
		}
		own = append(own, c)
	}
	name := "nodekeeper-image-" + on.OS + "-" + on.Architecture
	papers, err := content.Write(ctx, b.Source, name, b.Time, append(own[:len(own):len(own)], plugins...))
	if err != nil {
		return Image{}, err
	}
	texts := []file{{name: "sbom.spdx.json", mode: 0o644, text: papers.SBOM}}
	for name, text := range papers.Licences {
		texts = append(texts, file{name: "licenses/" + name, mode: 0o644, text: text})
	}
	at := filepath.Join(work, name)
	first, err := layer(at+"-programs.tar.gz", programs(own), b.Time)
	if err != nil {
		return Image{}, err
	}
	last, err := layer(at+"-papers.tar.gz", texts, b.Time)
	if err != nil {
		return Image{}, err
	}
	i, err := b.assemble(on, first, shared, last)
	return Image{on, i, papers.SBOM}, err
}

func programs(of []content.Program) []file {
	out := make([]file, 0, len(of))
	for _, p := range of {
		out = append(out, file{name: p.Name, mode: 0o755, source: p.At})
	}
	return out
}
