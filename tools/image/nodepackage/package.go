// Package nodepackage makes the .deb and .rpm for nodes that no machine config
// operator looks after.
package nodepackage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"

	"github.com/nodekeeper/nodekeeper/tools/image/content"
	"github.com/nodekeeper/nodekeeper/tools/image/program"
)

// documents is where papers go on a node.
const documents = "/usr/share/doc/nodekeeper"

// Build is what packages are made from. The same build makes the same bytes.
type Build struct {
	Source program.Source
	// Time is that of all files, to the second.
	Time      time.Time
	Platforms []program.Platform
	Programs  []program.Program
}

// Packages compiles the programs into the directory work, which must exist, and
// writes a .deb and an .rpm for each platform into out. The result are the paths.
func (b Build) Packages(ctx context.Context, work, out string) ([]string, error) {
	var paths []string
	for _, on := range b.Platforms {
		dir := filepath.Join(work, on.OS+"-"+on.Architecture)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("make packages: %w", err)
		}
		config, err := b.config(ctx, on, dir)
		if err != nil {
			return nil, err
		}
		for format, packager := range map[string]nfpm.Packager{"deb": deb.Default, "rpm": rpm.DefaultRPM} {
			path, err := write(config, format, packager, b.Time, out)
			if err != nil {
				return nil, err
			}
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths, nil
}

// config is packaging/nfpm/nfpm.yaml with the programs and papers of a platform.
func (b Build) config(ctx context.Context, on program.Platform, dir string) (nfpm.Config, error) {
	var programs []content.Program
	for _, p := range b.Programs {
		c, err := content.Compile(ctx, b.Source, p, on, dir, "usr/local/bin/"+p.Name)
		if err != nil {
			return nfpm.Config{}, err
		}
		if err := os.Rename(c.At, filepath.Join(dir, p.Name)); err != nil {
			return nfpm.Config{}, fmt.Errorf("make a package: %w", err)
		}
		programs = append(programs, c)
	}
	papers, err := content.Write(ctx, b.Source, "nodekeeper-package-"+on.OS+"-"+on.Architecture, b.Time, programs)
	if err != nil {
		return nfpm.Config{}, err
	}
	values := map[string]string{"PROGRAMS": dir, "ROOT": b.Source.Root, "ARCH": on.Architecture}
	config, err := nfpm.ParseFileWithEnvMapping(filepath.Join(b.Source.Root, "packaging/nfpm/nfpm.yaml"), func(name string) string { return values[name] })
	if err != nil {
		return nfpm.Config{}, fmt.Errorf("read how the package is put together: %w", err)
	}
	v := parse(b.Source.Version)
	config.VersionSchema, config.Version, config.Prerelease, config.VersionMetadata, config.Release = "none", v.number, v.before, v.after, "1"
	for _, script := range []*string{&config.Scripts.PostInstall, &config.Scripts.PreRemove, &config.Scripts.PostRemove} {
		*script = filepath.Join(b.Source.Root, *script)
	}
	documents, err := place(papers, filepath.Join(dir, "documents"))
	config.Contents = append(config.Contents, documents...)
	return config, err
}

// place writes the papers to dir and is how they get from there into a package.
func place(papers content.Papers, dir string) (files.Contents, error) {
	texts := map[string][]byte{"sbom.spdx.json": papers.SBOM}
	for name, text := range papers.Licences {
		texts["licenses/"+name] = text
	}
	var out files.Contents
	for name, text := range texts {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, text, 0o644)); err != nil {
			return nil, fmt.Errorf("write the papers of a package: %w", err)
		}
		out = append(out, &files.Content{Source: at, Destination: documents + "/" + name, FileInfo: &files.ContentFileInfo{Mode: 0o644}})
	}
	slices.SortFunc(out, func(a, b *files.Content) int { return cmp.Compare(a.Destination, b.Destination) })
	return out, nil
}

func write(config nfpm.Config, format string, packager nfpm.Packager, when time.Time, out string) (_ string, err error) {
	info, err := config.Get(format)
	if err != nil {
		return "", fmt.Errorf("make the %s: %w", format, err)
	}
	// No name is a pattern.
	info.DisableGlobbing = true
	info.MTime = when
	info = nfpm.WithDefaults(info)
	path := filepath.Join(out, packager.ConventionalFileName(info))
	to, err := os.Create(path)
	if err != nil {
		return "", fmt.Errorf("make the %s: %w", format, err)
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if err := packager.Package(info, to); err != nil {
		return "", fmt.Errorf("make the %s: %w", format, err)
	}
	return path, nil
}
