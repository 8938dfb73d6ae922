// Command image makes what nodekeeper is delivered as.
//
//	image build [-only linux/amd64]   the OCI image, as a layout and an archive
//	image push REGISTRY/REPO[:TAG]    to a registry; prints REGISTRY/REPO@sha256:...
//	image show [FILE]                 what is in it, or one file of it
//	image packages                    the .deb and .rpm of a node
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nodekeeper/nodekeeper/tools/image/program"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := execute(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func execute(ctx context.Context, args []string) error {
	commands := map[string]func(context.Context, []string) error{"build": build, "push": push, "packages": packages, "show": show}
	if len(args) == 0 || commands[args[0]] == nil {
		return fmt.Errorf("want a command: build, push, packages, show")
	}
	return commands[args[0]](ctx, args[1:])
}

// source are the flags that say what is built from.
type source struct {
	root, version, revision, only string
}

func (s *source) flags(name string) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ExitOnError)
	f.StringVar(&s.root, "root", "../..", "the top of the repository")
	f.StringVar(&s.version, "version", "", "what the programs say of themselves (default: of git describe)")
	f.StringVar(&s.revision, "revision", "", "the commit (default: of git rev-parse)")
	f.StringVar(&s.only, "only", "", "only these platforms, the plugin's too: linux/amd64,...")
	return f
}

// complete asks git for what was not told. The time is SOURCE_DATE_EPOCH's, or
// that of the commit.
func (s *source) complete(ctx context.Context) (time.Time, error) {
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	for _, q := range []struct {
		to    *string
		words []string
	}{
		{&s.version, []string{"describe", "--tags", "--always", "--dirty"}},
		{&s.revision, []string{"rev-parse", "HEAD"}},
		{&epoch, []string{"log", "-1", "--format=%ct"}},
	} {
		if *q.to != "" {
			continue
		}
		out, err := exec.CommandContext(ctx, "git", append([]string{"-C", s.root}, q.words...)...).Output()
		if err != nil {
			return time.Time{}, fmt.Errorf("git %s: %w (without git, tell -version, -revision and SOURCE_DATE_EPOCH)", q.words[0], err)
		}
		*q.to = strings.TrimSpace(string(out))
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// choose is those platforms that -only leaves.
func (s *source) choose(all []program.Platform) ([]program.Platform, error) {
	if s.only == "" {
		return all, nil
	}
	wanted := map[program.Platform]bool{}
	for text := range strings.SplitSeq(s.only, ",") {
		p, err := program.ParsePlatform(text)
		if err != nil {
			return nil, err
		}
		wanted[p] = true
	}
	var out []program.Platform
	for _, p := range all {
		if wanted[p] {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("-only %s leaves none of %v", s.only, all)
	}
	return out, nil
}
