package hostinstall

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// fake is a systemd that reads its unit files below a root.
type fake struct {
	root string
	// state is the agent's; next what it becomes when it is started.
	state, next string
	// packaged is the unit of a package, if there is one.
	packaged string
	calls    []string
	// refuse is the call that fails.
	refuse string
	// atStop is called when the agent is stopped.
	atStop func()
}

func (f *fake) call(words ...string) error {
	line := strings.Join(words, " ")
	f.calls = append(f.calls, line)
	if line == f.refuse {
		return errors.New("refused")
	}
	return nil
}

func (f *fake) Reload(context.Context) error { return f.call("reload") }

func (f *fake) Source(_ context.Context, unit string) (string, error) {
	if f.packaged != "" {
		return f.packaged, nil
	}
	if _, err := os.Stat(filepath.Join(f.root, units, unit)); err != nil {
		return "", nil
	}
	return units + "/" + unit, nil
}

func (f *fake) State(context.Context, string) (string, error) { return f.state, nil }

func (f *fake) Restart(_ context.Context, unit string) error {
	f.state = f.next
	return f.call("restart", unit)
}

func (f *fake) Stop(_ context.Context, unit string) error {
	if f.atStop != nil {
		f.atStop()
	}
	if unit == agent {
		f.state = "inactive"
	}
	return f.call("stop", unit)
}

func (f *fake) Enable(_ context.Context, unit string) error  { return f.call("enable", unit) }
func (f *fake) Disable(_ context.Context, unit string) error { return f.call("disable", unit) }

// scene is a node, an image, and what was said.
type scene struct {
	*testing.T
	Host
	systemd *fake
	said    []string
}

func newScene(t *testing.T) *scene {
	t.Helper()
	root := t.TempDir()
	s := &scene{T: t, systemd: &fake{root: root, state: "inactive", next: "active"}}
	s.Host = Host{
		Root: root, Programs: t.TempDir(), Systemd: s.systemd,
		Say:      func(line string) { s.said = append(s.said, line) },
		Patience: 50 * time.Millisecond, Pause: time.Millisecond,
	}
	s.image("one")
	return s
}

// image is one with other programs.
func (s *scene) image(version string) {
	s.Helper()
	for _, name := range []string{"nodekeeper", "nodekeeper-hook"} {
		if err := os.WriteFile(filepath.Join(s.Programs, name), []byte(name+" "+version), 0o755); err != nil {
			s.Fatal(err)
		}
	}
}

func (s *scene) write(name, content string) {
	s.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(s.path(name)), 0o755), os.WriteFile(s.path(name), []byte(content), 0o600)); err != nil {
		s.Fatal(err)
	}
}

func (s *scene) read(name string) string {
	s.Helper()
	b, err := os.ReadFile(s.path(name))
	if err != nil {
		s.Fatal(err)
	}
	return string(b)
}

// files are all names below the root.
func (s *scene) files() []string {
	s.Helper()
	var out []string
	err := filepath.WalkDir(s.Root, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, strings.TrimPrefix(path, s.Root))
		}
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
	return out
}

// told forgets what systemd was told until now, and is that.
func (s *scene) told() []string {
	out := s.systemd.calls
	s.systemd.calls = nil
	return out
}

func (s *scene) must(act func(context.Context) error) {
	s.Helper()
	if err := act(s.Context()); err != nil {
		s.Fatal(err)
	}
}

func (s *scene) same(what string, got, want []string) {
	s.Helper()
	if !slices.Equal(got, want) {
		s.Errorf("%s: %q instead of %q", what, got, want)
	}
}
