package mcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const unitDir = "/etc/systemd/system"

func dropinPath(unit, dropin string) string { return filepath.Join(unitDir, unit+".d", dropin) }

// writeUnits writes all units, and enables, disables or presets them.
func (d *Daemon) writeUnits(ctx context.Context, units []Unit) error {
	var enable []string
	for _, unit := range units {
		if err := d.writeUnit(ctx, unit); err != nil {
			return fmt.Errorf("write unit %s: %w", unit.Name, err)
		}
		switch {
		case unit.Enabled == nil:
			// The daemon only logs a failing preset.
			_, _ = d.systemctl(ctx, "preset", unit.Name)
		case *unit.Enabled:
			enable = append(enable, unit.Name)
		default:
			if _, err := d.systemctl(ctx, "disable", unit.Name); err != nil && d.exists(filepath.Join(unitDir, unit.Name)) {
				return err
			}
		}
	}
	if len(enable) == 0 {
		return nil
	}
	_, err := d.systemctl(ctx, append([]string{"enable"}, enable...)...)
	return err
}

func (d *Daemon) writeUnit(ctx context.Context, unit Unit) error {
	for _, dropin := range unit.Dropins {
		path := dropinPath(unit.Name, dropin.Name)
		if dropin.Contents == "" {
			if err := d.remove(path); err != nil {
				return err
			}
			continue
		}
		if err := d.writeAtomically(path, []byte(dropin.Contents), 0o644, 0, 0); err != nil {
			return err
		}
	}
	path := filepath.Join(unitDir, unit.Name)
	if unit.Mask != nil && *unit.Mask {
		outside, err := d.node.Path(path)
		if err != nil {
			return err
		}
		return errors.Join(os.RemoveAll(outside), os.Symlink("/dev/null", outside))
	}
	if unit.Contents == "" {
		if unit.Mask != nil {
			return d.remove(path)
		}
		return nil
	}
	// Its new [Install] may name other targets.
	if state, err := d.systemctl(ctx, "is-enabled", unit.Name); err == nil && state == "enabled" {
		if _, err := d.systemctl(ctx, "disable", unit.Name); err != nil {
			return err
		}
	}
	return d.writeAtomically(path, []byte(unit.Contents), 0o644, 0, 0)
}

// dropUnit takes away a unit that no configuration names any more.
func (d *Daemon) dropUnit(ctx context.Context, unit Unit) error {
	// A failure is only logged by the daemon.
	_, _ = d.systemctl(ctx, "disable", unit.Name)
	for _, dropin := range unit.Dropins {
		if err := d.remove(dropinPath(unit.Name, dropin.Name)); err != nil {
			return err
		}
	}
	if unit.Contents == "" && unit.Mask == nil {
		return nil
	}
	return d.remove(filepath.Join(unitDir, unit.Name))
}

func (d *Daemon) systemctl(ctx context.Context, args ...string) (string, error) {
	out, _, err := d.node.Exec(ctx, append([]string{"systemctl"}, args...)...)
	return strings.TrimSpace(out), err
}
