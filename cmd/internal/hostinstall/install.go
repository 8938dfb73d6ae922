package hostinstall

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nodekeeper/nodekeeper/packaging/nfpm"
)

// Install puts the agent onto the node, or makes it what it should be. An agent
// that is already so is not restarted.
func (h Host) Install(ctx context.Context) error {
	if err := h.mine(ctx); err != nil {
		return err
	}
	lock, err := h.alone()
	if err != nil {
		return err
	}
	defer lock.Close()
	changed, err := h.files()
	if err != nil {
		return err
	}
	if changed {
		if err := h.Systemd.Reload(ctx); err != nil {
			return fmt.Errorf("have systemd read the units: %w", err)
		}
	}
	if err := h.Systemd.Enable(ctx, agent); err != nil {
		return fmt.Errorf("enable %s: %w", agent, err)
	}
	is, err := h.Systemd.State(ctx, agent)
	if err != nil {
		return fmt.Errorf("ask systemd for %s: %w", agent, err)
	}
	if is == "active" && !changed {
		h.Say(agent + " runs as it should")
		return nil
	}
	if err := h.Systemd.Restart(ctx, agent); err != nil {
		return fmt.Errorf("start %s: %w", agent, err)
	}
	if err := h.become(ctx, "active"); err != nil {
		return err
	}
	h.Say(agent + " runs")
	return nil
}

// files writes what is not there or is not as it should be, and tells whether
// there was something.
func (h Host) files() (changed bool, err error) {
	put := func(name string, content []byte, mode fs.FileMode) error {
		did, err := h.put(name, content, mode)
		changed = changed || did
		return err
	}
	for _, name := range names() {
		content, err := os.ReadFile(filepath.Join(h.Programs, filepath.Base(name)))
		if err != nil {
			return changed, fmt.Errorf("read the new program: %w", err)
		}
		if err := put(name, content, 0o755); err != nil {
			return changed, err
		}
	}
	// Before the units: without settings it would act.
	switch _, err := os.Lstat(h.path(settings)); {
	case errors.Is(err, fs.ErrNotExist):
		if err := put(settings, nfpm.Settings, 0o600); err != nil {
			return changed, err
		}
	case err != nil:
		return changed, fmt.Errorf("look for settings: %w", err)
	}
	for _, t := range texts() {
		if err := put(t.name, t.content, 0o644); err != nil {
			return changed, err
		}
	}
	return changed, nil
}
