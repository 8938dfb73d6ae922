package mcd

import (
	"context"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// Types of actions.
const (
	Reboot       = "Reboot"
	None         = "None"
	Drain        = "Drain"
	Restart      = "Restart"
	Reload       = "Reload"
	DaemonReload = "DaemonReload"
)

// Policy is a NodeDisruptionPolicy. Without an entry a change means a reboot.
type Policy struct {
	Files []FilePolicy `json:"files,omitempty"`
	Units []UnitPolicy `json:"units,omitempty"`
}

// FilePolicy is for a file, or for all below a directory.
type FilePolicy struct {
	Path    string   `json:"path"`
	Actions []Action `json:"actions"`
}

// UnitPolicy is for one unit and its drop-ins.
type UnitPolicy struct {
	Name    string   `json:"name"`
	Actions []Action `json:"actions"`
}

// Action follows a change.
type Action struct {
	Type    string   `json:"type"`
	Reload  *service `json:"reload,omitempty"`
	Restart *service `json:"restart,omitempty"`
}

type service struct {
	ServiceName string `json:"serviceName"`
}

// ParsePolicy reads the nodeDisruptionPolicy of a MachineConfiguration.
func ParsePolicy(text []byte) (Policy, error) {
	var object struct {
		Kind string `json:"kind"`
		Spec struct {
			Policy Policy `json:"nodeDisruptionPolicy"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &object); err != nil {
		return Policy{}, fmt.Errorf("node disruption policy: %w", err)
	}
	if object.Kind != "MachineConfiguration" {
		return Policy{}, fmt.Errorf("node disruption policy: kind %q", object.Kind)
	}
	for _, actions := range object.Spec.Policy.all() {
		if len(actions) == 0 || len(actions) > 10 {
			return Policy{}, fmt.Errorf("node disruption policy: %d actions", len(actions))
		}
		for _, action := range actions {
			if (action.Type == Reboot || action.Type == None) && len(actions) > 1 {
				return Policy{}, fmt.Errorf("node disruption policy: %s does not stand alone", action.Type)
			}
			if (action.Type == Restart) != (action.Restart != nil) || (action.Type == Reload) != (action.Reload != nil) {
				return Policy{}, fmt.Errorf("node disruption policy: %s and its service do not go together", action.Type)
			}
		}
	}
	return object.Spec.Policy, nil
}

func (p Policy) all() [][]Action {
	var out [][]Action
	for _, file := range p.Files {
		out = append(out, file.Actions)
	}
	for _, unit := range p.Units {
		out = append(out, unit.Actions)
	}
	return out
}

// actions are what follows the difference: a reboot alone when any part of it
// has no entry or asks for one.
func (p Policy) actions(from, to Rendered) []Action {
	var out []Action
	for _, path := range changedFiles(from, to) {
		out = append(out, p.file(path)...)
	}
	for _, name := range changedUnits(from, to) {
		out = append(out, p.unit(name)...)
	}
	for _, action := range out {
		if action.Type == Reboot {
			return []Action{action}
		}
	}
	return out
}

// file is the entry with the longest path that covers this one.
func (p Policy) file(path string) []Action {
	found := []Action{{Type: Reboot}}
	longest := -1
	for _, entry := range p.Files {
		covers := path == entry.Path || strings.HasPrefix(path, strings.TrimSuffix(entry.Path, "/")+"/")
		if covers && len(entry.Path) > longest {
			found, longest = entry.Actions, len(entry.Path)
		}
	}
	return found
}

func (p Policy) unit(name string) []Action {
	for _, entry := range p.Units {
		if entry.Name == name {
			return entry.Actions
		}
	}
	return []Action{{Type: Reboot}}
}

func (d *Daemon) perform(ctx context.Context, action Action) error {
	var err error
	switch action.Type {
	case None, Drain: // one node has nowhere to drain to
	case DaemonReload:
		_, err = d.systemctl(ctx, "daemon-reload")
	case Restart:
		_, err = d.systemctl(ctx, "restart", action.Restart.ServiceName)
	case Reload:
		_, err = d.systemctl(ctx, "reload", action.Reload.ServiceName)
	default:
		err = fmt.Errorf("action %q is not known", action.Type)
	}
	return err
}
