package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/nodekeeper/nodekeeper/tools/image/oci"
	"github.com/nodekeeper/nodekeeper/tools/image/program"
)

// nodes is what nodes run on, desks what admins do.
func nodes() []program.Platform { return platforms("linux") }
func desks() []program.Platform { return platforms("linux", "darwin", "windows") }

func platforms(systems ...string) []program.Platform {
	var out []program.Platform
	for _, system := range systems {
		out = append(out, program.Platform{OS: system, Architecture: "amd64"}, program.Platform{OS: system, Architecture: "arm64"})
	}
	return out
}

// build makes the image: the layout OUT/image, the archive OUT/image.tar, its
// digest OUT/image.digest and the bills of materials OUT/sbom-*.spdx.json.
func build(ctx context.Context, args []string) error {
	var s source
	f := s.flags("build")
	out := f.String("out", "../../_output", "where to write")
	if err := f.Parse(args); err != nil {
		return err
	}
	when, err := s.complete(ctx)
	if err != nil {
		return err
	}
	b := oci.Build{
		Source:   program.Source{Root: s.root, Version: s.version, Go: "go"},
		Revision: s.revision, Time: when,
		Programs: program.All(), Plugin: program.Plugin(),
	}
	if b.Platforms, err = s.choose(nodes()); err != nil {
		return err
	}
	if b.PluginPlatforms, err = s.choose(desks()); err != nil {
		return err
	}
	return write(ctx, b, *out)
}

func write(ctx context.Context, b oci.Build, out string) (err error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(out, ".image-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	images, err := b.Images(ctx, work)
	if err != nil {
		return err
	}
	index := b.Index(images)
	layout := filepath.Join(out, "image")
	if err := oci.Write(layout, index, b.Source.Version); err != nil {
		return err
	}
	if err := oci.Archive(layout+".tar", layout, b.Time); err != nil {
		return err
	}
	for _, i := range images {
		name := fmt.Sprintf("sbom-%s-%s.spdx.json", i.Platform.OS, i.Platform.Architecture)
		if err := os.WriteFile(filepath.Join(out, name), i.SBOM, 0o644); err != nil {
			return err
		}
		size, err := compressed(i.Image)
		if err != nil {
			return err
		}
		fmt.Printf("%-12s %5.1f MB to pull\n", i.Platform, float64(size)/1e6)
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	fmt.Printf("%s %s\n", b.Source.Version, digest)
	return os.WriteFile(layout+".digest", []byte(digest.String()+"\n"), 0o644)
}

// compressed is what a node fetches.
func compressed(image v1.Image) (int64, error) {
	m, err := image.Manifest()
	if err != nil {
		return 0, err
	}
	size := m.Config.Size
	for _, l := range m.Layers {
		size += l.Size
	}
	return size, nil
}

// push sends a layout to a registry.
func push(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("push", flag.ExitOnError)
	layout := f.String("layout", "../../_output/image", "the layout that build has written")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() != 1 {
		return errors.New("push: want REGISTRY/REPO or REGISTRY/REPO:TAG")
	}
	index, err := oci.Open(*layout)
	if err != nil {
		return err
	}
	reference, err := oci.Push(ctx, index, f.Arg(0))
	if err != nil {
		return err
	}
	fmt.Println(reference)
	return nil
}
