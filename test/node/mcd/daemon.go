package mcd

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
)

// Node is what a daemon works on; a box of package node is one.
type Node interface {
	// Path is where a path of the node is found from outside.
	Path(path string) (string, error)
	// Exec runs a command on the node.
	Exec(ctx context.Context, args ...string) (stdout, stderr string, err error)
}

// Daemon is the machine-config-daemon of one node. It must not be used
// concurrently.
type Daemon struct {
	node    Node
	current Rendered
}

// New is the daemon of a node to which nothing has been applied.
func New(node Node) *Daemon { return &Daemon{node: node} }

// Apply brings the node from what was applied last to a new configuration, and
// does what the policy says about the difference. The caller reboots the node
// when that is what has to follow. After an error the node is degraded, and the
// old configuration counts as its current one.
func (d *Daemon) Apply(ctx context.Context, to Rendered, policy Policy) (reboot bool, err error) {
	if err := d.CheckDrift(); err != nil {
		return false, err
	}
	actions := policy.actions(d.current, to)
	if err := d.writeFiles(ctx, to.Files); err != nil {
		return false, err
	}
	if err := d.writeUnits(ctx, to.Units); err != nil {
		return false, err
	}
	if err := d.deleteStale(ctx, to); err != nil {
		return false, err
	}
	d.current = to
	for _, action := range actions {
		if action.Type == Reboot {
			return true, nil
		}
		if err := d.perform(ctx, action); err != nil {
			return false, fmt.Errorf("node disruption policy: %w", err)
		}
	}
	return false, nil
}

// deleteStale takes away what the current configuration wrote and the new one
// does not have.
func (d *Daemon) deleteStale(ctx context.Context, to Rendered) error {
	for _, file := range d.current.Files {
		if slices.ContainsFunc(to.Files, func(f File) bool { return f.Path == file.Path }) {
			continue
		}
		if err := d.dropFile(file.Path); err != nil {
			return fmt.Errorf("delete %s: %w", file.Path, err)
		}
	}
	for _, unit := range d.current.Units {
		i := slices.IndexFunc(to.Units, func(u Unit) bool { return u.Name == unit.Name })
		if i < 0 {
			if err := d.dropUnit(ctx, unit); err != nil {
				return fmt.Errorf("delete unit %s: %w", unit.Name, err)
			}
			continue
		}
		for _, dropin := range unit.Dropins {
			if slices.ContainsFunc(to.Units[i].Dropins, func(n Dropin) bool { return n.Name == dropin.Name }) {
				continue
			}
			if err := d.remove(dropinPath(unit.Name, dropin.Name)); err != nil {
				return fmt.Errorf("delete drop-in of %s: %w", unit.Name, err)
			}
		}
	}
	return nil
}

// CheckDrift is an error when a file or unit of the current configuration is
// not on the disk as it was written: the daemon degrades the node then.
func (d *Daemon) CheckDrift() error {
	for _, file := range d.current.Files {
		content, err := file.content()
		if err != nil {
			return err
		}
		if err := d.sameOnDisk(file.Path, content, file.mode()); err != nil {
			return err
		}
	}
	for _, unit := range d.current.Units {
		for _, dropin := range unit.Dropins {
			if dropin.Contents == "" {
				continue
			}
			if err := d.sameOnDisk(dropinPath(unit.Name, dropin.Name), []byte(dropin.Contents), 0o644); err != nil {
				return err
			}
		}
		if unit.Contents == "" || unit.Mask != nil && *unit.Mask {
			continue
		}
		if err := d.sameOnDisk(filepath.Join(unitDir, unit.Name), []byte(unit.Contents), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// changedFiles are the paths of files that were added, taken away or changed.
func changedFiles(from, to Rendered) []string {
	return changed(from.Files, to.Files, func(f File) string { return f.Path })
}

// changedUnits are the names of units that were added, taken away or changed; a
// drop-in counts as its unit.
func changedUnits(from, to Rendered) []string {
	return changed(from.Units, to.Units, func(u Unit) string { return u.Name })
}

func changed[T any](from, to []T, name func(T) string) []string {
	var out []string
	for _, item := range to {
		i := slices.IndexFunc(from, func(old T) bool { return name(old) == name(item) })
		if i < 0 || !reflect.DeepEqual(from[i], item) {
			out = append(out, name(item))
		}
	}
	for _, item := range from {
		if !slices.ContainsFunc(to, func(n T) bool { return name(n) == name(item) }) {
			out = append(out, name(item))
		}
	}
	return out
}
