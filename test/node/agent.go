package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nodekeeper/nodekeeper/packaging"
)

// The agent's files in the box.
const (
	AgentProgram = "/usr/local/bin/nodekeeper"
	HookProgram  = "/usr/local/bin/nodekeeper-hook"
	AgentConfig  = "/etc/nodekeeper/config.yaml"
)

// Installable is a running node that takes files and commands.
type Installable interface {
	WriteFile(path string, content []byte, mode os.FileMode) error
	Systemctl(ctx context.Context, args ...string) (string, error)
}

// InstallAgent is the function of that name for this box.
func (b *Box) InstallAgent(ctx context.Context, program, configYAML string) error {
	return InstallAgent(ctx, b, program, configYAML)
}

// InstallAgent copies the static program nodekeeper and the hook beside it
// onto a node, writes the agent's configuration and units, and enables it for
// the next boot. It does not start it.
func InstallAgent(ctx context.Context, on Installable, program, configYAML string) error {
	content, err := os.ReadFile(program)
	if err != nil {
		return fmt.Errorf("install the agent: %w", err)
	}
	hook, err := os.ReadFile(filepath.Join(filepath.Dir(program), "nodekeeper-hook"))
	if err != nil {
		return fmt.Errorf("install the hook: %w", err)
	}
	for path, file := range map[string]file{
		AgentProgram:                            {content, 0o755},
		HookProgram:                             {hook, 0o755},
		AgentConfig:                             {[]byte(configYAML), 0o600},
		"/etc/systemd/system/" + Agent:          {[]byte(packaging.AgentUnit), 0o644},
		"/etc/systemd/system/nodekeeper.socket": {[]byte(packaging.AgentSocket), 0o644},
	} {
		if err := on.WriteFile(path, file.content, file.mode); err != nil {
			return fmt.Errorf("install the agent: %w", err)
		}
	}
	if _, err := on.Systemctl(ctx, "daemon-reload"); err != nil {
		return err
	}
	_, err = on.Systemctl(ctx, "enable", Agent)
	return err
}

// StartAgent returns when the agent has said that it is ready.
func (b *Box) StartAgent(ctx context.Context) error {
	_, err := b.Systemctl(ctx, "start", Agent)
	return err
}

// StopAgent returns when the agent has ended.
func (b *Box) StopAgent(ctx context.Context) error {
	_, err := b.Systemctl(ctx, "stop", Agent)
	return err
}
