package machine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/nodekeeper/nodekeeper/test/node"
)

// PutManifest writes a static pod's manifest in one step.
func (m *Machine) PutManifest(name string, content []byte) error {
	return m.WriteFile(filepath.Join(node.ManifestDir, name), content, 0o600)
}

// StepClock sets the machine's clock forward by a span, or back by a negative
// one; whole seconds.
func (m *Machine) StepClock(ctx context.Context, by time.Duration) error {
	_, _, err := m.Exec(ctx, "date", "--set", fmt.Sprintf("%+d seconds", int(by.Seconds())))
	return err
}

// InstallAgent is node.InstallAgent for this machine.
func (m *Machine) InstallAgent(ctx context.Context, program, configYAML string) error {
	return node.InstallAgent(ctx, m, program, configYAML)
}

// StartAgent returns when the agent has said that it is ready.
func (m *Machine) StartAgent(ctx context.Context) error {
	_, err := m.Systemctl(ctx, "start", node.Agent)
	return err
}

// Journal returns all messages of a unit in the order in which they came,
// which is not that of their times after the clock was set back.
func (m *Machine) Journal(ctx context.Context, unit string) (string, error) {
	stdout, _, err := m.Exec(ctx, "journalctl", "--no-pager", "--output=short-precise", "--unit="+unit)
	return stdout, err
}

// Collect gathers into dir the console, the whole journal and the containers.
func (m *Machine) Collect(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	console, err := os.ReadFile(m.console())
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "console.log"), console, 0o644); err != nil {
		return err
	}
	for name, args := range map[string][]string{
		"journal.txt":         {"journalctl", "--no-pager", "--output=short-precise"},
		"cri-containers.json": {"crictl", "ps", "--all", "--output=json"},
	} {
		stdout, _, err := m.Exec(ctx, args...)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(stdout), 0o644); err != nil {
			return err
		}
	}
	return nil
}
