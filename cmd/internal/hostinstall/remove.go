package hostinstall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/nodekeeper/nodekeeper/internal/statefile"
	"github.com/nodekeeper/nodekeeper/packaging/nfpm"
	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/lifecycle/hooksd"
)

// Remove takes away what Install has brought, and the agent's own state. Crash
// records stay, and settings that were changed. It can be done again when it has
// failed half-way.
func (h Host) Remove(ctx context.Context) error {
	if err := h.mine(ctx); err != nil {
		return err
	}
	lock, err := h.alone()
	if err != nil {
		return err
	}
	defer lock.Close()
	for _, unit := range []string{agent, socket} {
		source, err := h.Systemd.Source(ctx, unit)
		if err != nil {
			return fmt.Errorf("ask systemd for %s: %w", unit, err)
		}
		if source == "" {
			continue
		}
		if err := h.Systemd.Disable(ctx, unit); err != nil {
			return fmt.Errorf("disable %s: %w", unit, err)
		}
		if err := h.Systemd.Stop(ctx, unit); err != nil {
			return fmt.Errorf("stop %s: %w", unit, err)
		}
	}
	// Or it would put the hook back.
	if err := h.become(ctx, "inactive", "failed"); err != nil {
		return err
	}
	// Before its program: CRI-O makes no container whose hook cannot be run.
	if err := h.unhook(); err != nil {
		return err
	}
	var errs []error
	for _, t := range texts() {
		errs = append(errs, h.remove(t.name))
	}
	errs = append(errs, h.remove(units+"/"+agent+".d"))
	if err := h.Systemd.Reload(ctx); err != nil {
		errs = append(errs, fmt.Errorf("have systemd forget the units: %w", err))
	}
	for _, name := range names() {
		errs = append(errs, h.remove(name))
	}
	errs = append(errs, h.forget())
	return errors.Join(errs...)
}

// unhook has CRI-O run the hook no more.
func (h Host) unhook() error {
	usual := config.Default().Logs.Hook.Directory
	dir := usual
	cfg, err := config.Load(h.path(settings))
	if err == nil {
		dir = cfg.Logs.Hook.Directory
	}
	if dir != usual && dir != "" {
		if _, err := os.Stat(h.path(dir)); err != nil {
			return fmt.Errorf("the hook is in %s, which cannot be seen from here: on the node, run nodekeeper hook uninstall, and then this again: %w", dir, err)
		}
		if err := hooksd.Uninstall(h.path(dir)); err != nil {
			return err
		}
	}
	return hooksd.Uninstall(h.path(usual))
}

// maxSettings is more than settings have.
const maxSettings = 1 << 20

// forget removes the agent's state, and settings that nobody has changed. Of
// directories that are mounted only the content goes.
func (h Host) forget() error {
	var errs []error
	switch content, err := statefile.Read(h.path(settings), maxSettings); {
	case err == nil && bytes.Equal(content, nfpm.Settings):
		errs = append(errs, h.remove(settings))
	case err == nil:
		h.Say("kept: " + settings + ", which was changed")
	case !errors.Is(err, fs.ErrNotExist):
		errs = append(errs, fmt.Errorf("read the settings: %w", err))
	}
	err := h.inside(state + "/any")
	var entries []fs.DirEntry
	if err == nil {
		entries, err = os.ReadDir(h.path(state))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		errs = append(errs, fmt.Errorf("remove the state: %w", err))
	}
	for _, e := range entries {
		name := state + "/" + e.Name()
		if err := os.RemoveAll(h.path(name)); err != nil {
			errs = append(errs, fmt.Errorf("remove %s: %w", name, err))
			continue
		}
		h.Say("removed: " + name)
	}
	return errors.Join(errs...)
}
