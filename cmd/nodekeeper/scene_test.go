package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

var update = flag.Bool("update", false, "write the golden files anew")

// scene is a node on which the command line is called.
type scene struct {
	*testing.T
	run, state, config string
	// records is the record root, pods the kubelet's log directory; neither is
	// there at first.
	records, pods string
	now           node.Instant
}

func stage(t *testing.T) *scene {
	t.Helper()
	dir := t.TempDir()
	s := &scene{T: t, run: filepath.Join(dir, "run"), state: filepath.Join(dir, "state"), config: filepath.Join(dir, "config.yaml"),
		records: filepath.Join(dir, "log"), pods: filepath.Join(dir, "pods")}
	s.now = node.Instant{Wall: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Boot: 10 * time.Hour}
	for _, d := range []string{s.run, s.state} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.write(s.config, fmt.Sprintf(`apiVersion: nodekeeper.io/v1alpha1
kind: Configuration
directories: {run: %s, state: %s, log: %s}
logs: {podLogs: %s}
`, s.run, s.state, s.records, s.pods))
	return s
}

func (s *scene) write(path, content string) {
	s.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		s.Fatal(err)
	}
}

func (s *scene) publish(st status.Status) {
	s.Helper()
	if err := status.Write(s.run, st); err != nil {
		s.Fatal(err)
	}
}

// Now and BootID make the scene its own clock.
func (s *scene) Now() node.Instant { return s.now }
func (s *scene) BootID() string    { return "boot-1" }

// call calls nodekeeper with the scene's configuration.
func (s *scene) call(args ...string) (code int, stdout, stderr string) {
	s.Helper()
	return s.bare(append(args, "--config", s.config)...)
}

func (s *scene) bare(args ...string) (code int, stdout, stderr string) {
	s.Helper()
	var out, err bytes.Buffer
	code = (&program{out: &out, err: &err, clock: s}).execute(context.Background(), args)
	return code, out.String(), err.String()
}

// golden compares text with a file under testdata.
func (s *scene) golden(name, text string) {
	s.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			s.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			s.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		s.Fatal(err)
	}
	if string(want) != text {
		s.Errorf("%s differs (go test ./cmd/nodekeeper -update):\n%s", path, text)
	}
}

// narrow fails for lines of more columns than a table may have.
func (s *scene) narrow(text string) {
	s.Helper()
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > cli.Width {
			s.Errorf("%d columns: %s", n, line)
		}
	}
}
