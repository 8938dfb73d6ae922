package mcd

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// MachineConfig is the part of a MachineConfig that can be applied to a running
// node without a new operating system. Fields that are not here are refused.
type MachineConfig struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Spec       struct {
		Config ignition `json:"config"`
	} `json:"spec"`
}

type metadata struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// ignition is a configuration of specification 3.
type ignition struct {
	Ignition struct {
		Version string `json:"version"`
	} `json:"ignition"`
	Storage struct {
		Files []File `json:"files,omitempty"`
	} `json:"storage,omitempty"`
	Systemd struct {
		Units []Unit `json:"units,omitempty"`
	} `json:"systemd,omitempty"`
}

// File is one file of a configuration.
type File struct {
	Path      string   `json:"path"`
	Overwrite *bool    `json:"overwrite,omitempty"`
	Mode      *int     `json:"mode,omitempty"`
	User      owner    `json:"user,omitempty"`
	Group     owner    `json:"group,omitempty"`
	Contents  resource `json:"contents,omitempty"`
}

type owner struct {
	ID   *int   `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
}

type resource struct {
	Source      string `json:"source,omitempty"`
	Compression string `json:"compression,omitempty"`
}

// Unit is one systemd unit of a configuration.
type Unit struct {
	Name     string   `json:"name"`
	Enabled  *bool    `json:"enabled,omitempty"`
	Mask     *bool    `json:"mask,omitempty"`
	Contents string   `json:"contents,omitempty"`
	Dropins  []Dropin `json:"dropins,omitempty"`
}

// Dropin is a fragment of a unit; without contents it is taken away.
type Dropin struct {
	Name     string `json:"name"`
	Contents string `json:"contents,omitempty"`
}

// Parse reads one MachineConfig and checks what the daemon would.
func Parse(text []byte) (MachineConfig, error) {
	var config MachineConfig
	if err := yaml.UnmarshalStrict(text, &config); err != nil {
		return config, fmt.Errorf("machine config: %w", err)
	}
	if config.Kind != "MachineConfig" || config.Metadata.Name == "" {
		return config, fmt.Errorf("machine config: kind %q, name %q", config.Kind, config.Metadata.Name)
	}
	if role := config.Metadata.Labels["machineconfiguration.openshift.io/role"]; role == "" {
		return config, fmt.Errorf("machine config %s: no pool would select it: it has no role", config.Metadata.Name)
	}
	for _, file := range config.Spec.Config.Storage.Files {
		if _, err := file.content(); err != nil {
			return config, fmt.Errorf("machine config %s: %w", config.Metadata.Name, err)
		}
		if mode := file.mode(); mode > 0o777 {
			return config, fmt.Errorf("machine config %s: %s: mode %#o", config.Metadata.Name, file.Path, mode)
		}
		if file.User.Name != "" && file.User.Name != "root" || file.Group.Name != "" && file.Group.Name != "root" {
			return config, fmt.Errorf("machine config %s: %s: only root is known by its name here", config.Metadata.Name, file.Path)
		}
	}
	for _, unit := range config.Spec.Config.Systemd.Units {
		if unit.Enabled != nil && *unit.Enabled && unit.Contents != "" && !strings.Contains(unit.Contents, "[Install]") {
			return config, fmt.Errorf("machine config %s: %s cannot be enabled: it has no [Install]", config.Metadata.Name, unit.Name)
		}
	}
	return config, nil
}

func (f File) mode() fs.FileMode {
	if f.Mode == nil {
		return 0o644
	}
	return fs.FileMode(*f.Mode)
}

// content decodes the file's data URL.
func (f File) content() ([]byte, error) {
	if f.Contents.Source == "" {
		return nil, nil
	}
	head, body, found := strings.Cut(f.Contents.Source, ",")
	kind, isData := strings.CutPrefix(head, "data:")
	if !found || !isData {
		return nil, fmt.Errorf("%s: contents are no data URL", f.Path)
	}
	text, err := url.PathUnescape(body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	content := []byte(text)
	if strings.HasSuffix(kind, ";base64") {
		if content, err = base64.StdEncoding.DecodeString(text); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	switch f.Contents.Compression {
	case "":
		return content, nil
	case "gzip":
		reader, err := gzip.NewReader(bytes.NewReader(content))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		content, err = io.ReadAll(reader)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		return content, nil
	}
	return nil, fmt.Errorf("%s: compression %q", f.Path, f.Contents.Compression)
}

// Rendered is what a pool makes of its MachineConfigs. The zero value is a pool
// without any.
type Rendered struct {
	Files []File
	Units []Unit
}

// Render merges MachineConfigs in the order of their names: of two files or
// units with the same name the later one holds, and drop-ins add up.
func Render(configs ...MachineConfig) Rendered {
	sorted := slices.Clone(configs)
	slices.SortFunc(sorted, func(a, b MachineConfig) int { return strings.Compare(a.Metadata.Name, b.Metadata.Name) })
	var out Rendered
	for _, config := range sorted {
		for _, file := range config.Spec.Config.Storage.Files {
			out.Files = put(out.Files, file, func(f File) bool { return f.Path == file.Path })
		}
		for _, unit := range config.Spec.Config.Systemd.Units {
			if i := slices.IndexFunc(out.Units, func(u Unit) bool { return u.Name == unit.Name }); i >= 0 {
				unit = out.Units[i].with(unit)
			}
			out.Units = put(out.Units, unit, func(u Unit) bool { return u.Name == unit.Name })
		}
	}
	return out
}

func (u Unit) with(later Unit) Unit {
	if later.Contents == "" {
		later.Contents = u.Contents
	}
	if later.Enabled == nil {
		later.Enabled = u.Enabled
	}
	if later.Mask == nil {
		later.Mask = u.Mask
	}
	all := slices.Clone(u.Dropins)
	for _, dropin := range later.Dropins {
		all = put(all, dropin, func(d Dropin) bool { return d.Name == dropin.Name })
	}
	later.Dropins = all
	return later
}

func put[T any](list []T, item T, same func(T) bool) []T {
	if i := slices.IndexFunc(list, same); i >= 0 {
		list[i] = item
		return list
	}
	return append(list, item)
}

// SetFile replaces the content of a file that the configuration has, as an
// admin does who edits it, and tells whether it has it.
func (m *MachineConfig) SetFile(path string, content []byte) bool {
	for i, file := range m.Spec.Config.Storage.Files {
		if file.Path == path {
			source := "data:;base64," + base64.StdEncoding.EncodeToString(content)
			// A copy: other configurations may share the list.
			m.Spec.Config.Storage.Files = slices.Clone(m.Spec.Config.Storage.Files)
			m.Spec.Config.Storage.Files[i].Contents = resource{Source: source}
			return true
		}
	}
	return false
}

// SetUnit replaces the contents of a unit that the configuration has.
func (m *MachineConfig) SetUnit(name, contents string) bool {
	for i, unit := range m.Spec.Config.Systemd.Units {
		if unit.Name == name {
			m.Spec.Config.Systemd.Units = slices.Clone(m.Spec.Config.Systemd.Units)
			m.Spec.Config.Systemd.Units[i].Contents = contents
			return true
		}
	}
	return false
}
