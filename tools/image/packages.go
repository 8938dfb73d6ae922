package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nodekeeper/nodekeeper/tools/image/content"
	"github.com/nodekeeper/nodekeeper/tools/image/nodepackage"
	"github.com/nodekeeper/nodekeeper/tools/image/program"
)

// packages makes the .deb and .rpm in OUT/packages, with their digests in
// SHA256SUMS. What was there before is removed.
func packages(ctx context.Context, args []string) (err error) {
	var s source
	f := s.flags("packages")
	out := f.String("out", "../../_output", "where to write")
	if err := f.Parse(args); err != nil {
		return err
	}
	when, err := s.complete(ctx)
	if err != nil {
		return err
	}
	b := nodepackage.Build{
		Source:   program.Source{Root: s.root, Version: s.version, Go: "go"},
		Time:     when,
		Programs: program.ForNodes(),
	}
	if b.Platforms, err = s.choose(nodes()); err != nil {
		return err
	}
	dir := filepath.Join(*out, "packages")
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return err
	}
	work, err := os.MkdirTemp(*out, ".packages-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	paths, err := b.Packages(ctx, work, dir)
	if err != nil {
		return err
	}
	var sums []byte
	for _, path := range paths {
		sum, err := content.Digest(path)
		if err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		fmt.Printf("%s %5.1f MB\n", filepath.Base(path), float64(info.Size())/1e6)
		sums = fmt.Appendf(sums, "%s  %s\n", sum, filepath.Base(path))
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), sums, 0o644)
}
