package machineconfig

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// butane is what the sources use of Butane's openshift variant (config/openshift
// v4_13). Anything else in one is an error.
type butane struct {
	Variant  string   `yaml:"variant"`
	Version  string   `yaml:"version"`
	Metadata metadata `yaml:"metadata"`
	Storage  struct {
		Files []struct {
			Path     string `yaml:"path"`
			Mode     int    `yaml:"mode"`
			Contents struct {
				Inline string `yaml:"inline"`
			} `yaml:"contents"`
		} `yaml:"files"`
	} `yaml:"storage"`
	Systemd systemd `yaml:"systemd"`
}

type metadata struct {
	Labels map[string]string `yaml:"labels"`
	Name   string            `yaml:"name"`
}

// machineConfig is machineconfiguration.openshift.io/v1 with Ignition 3.2.0,
// which every cluster since 4.8 takes.
type machineConfig struct {
	APIVersion string   `yaml:"apiVersion"`
	Kind       string   `yaml:"kind"`
	Metadata   metadata `yaml:"metadata"`
	Spec       struct {
		Config struct {
			Ignition struct {
				Version string `yaml:"version"`
			} `yaml:"ignition"`
			Storage *storage `yaml:"storage,omitempty"`
			Systemd *systemd `yaml:"systemd,omitempty"`
		} `yaml:"config"`
	} `yaml:"spec"`
}

type storage struct {
	Files []file `yaml:"files"`
}

type file struct {
	Contents struct {
		// Empty, and written: it must not be inherited.
		Compression string `yaml:"compression"`
		Source      string `yaml:"source"`
	} `yaml:"contents"`
	Mode int    `yaml:"mode"`
	Path string `yaml:"path"`
}

// systemd is the same in both.
type systemd struct {
	Units []unit `yaml:"units"`
}

type unit struct {
	Contents string   `yaml:"contents"`
	Dropins  []dropin `yaml:"dropins,omitempty"`
	Enabled  *bool    `yaml:"enabled,omitempty"`
	Name     string   `yaml:"name"`
}

type dropin struct {
	Contents string `yaml:"contents"`
	Name     string `yaml:"name"`
}

// translate makes a MachineConfig of a Butane source, and gives its name too.
func translate(source []byte) (name, text string, err error) {
	var from butane
	decoder := yaml.NewDecoder(bytes.NewReader(source))
	decoder.KnownFields(true)
	if err := decoder.Decode(&from); err != nil {
		return "", "", err
	}
	if err := decoder.Decode(new(any)); !errors.Is(err, io.EOF) {
		return "", "", errors.New("more than one document")
	}
	if from.Variant != "openshift" || from.Version != "4.13.0" {
		return "", "", fmt.Errorf("variant %s %s: only openshift 4.13.0 is known", from.Variant, from.Version)
	}
	to := machineConfig{APIVersion: "machineconfiguration.openshift.io/v1", Kind: "MachineConfig", Metadata: from.Metadata}
	to.Spec.Config.Ignition.Version = "3.2.0"
	for _, f := range from.Storage.Files {
		out := file{Mode: f.Mode, Path: f.Path}
		out.Contents.Source = dataURL(f.Contents.Inline)
		if to.Spec.Config.Storage == nil {
			to.Spec.Config.Storage = &storage{}
		}
		to.Spec.Config.Storage.Files = append(to.Spec.Config.Storage.Files, out)
	}
	if len(from.Systemd.Units) > 0 {
		to.Spec.Config.Systemd = &from.Systemd
	}
	var out strings.Builder
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(to); err != nil {
		return "", "", err
	}
	return from.Metadata.Name, out.String(), nil
}

// dataURL is the shorter of two ways to write a text into a URL, as Butane
// chooses (base/util/url.go MakeDataURL). It is not compressed: those who read
// a rendered configuration want to see what is in it.
func dataURL(text string) string {
	var escaped strings.Builder
	for _, b := range []byte(text) {
		if isPlain(b) {
			escaped.WriteByte(b)
		} else {
			fmt.Fprintf(&escaped, "%%%02X", b)
		}
	}
	if b64 := ";base64," + base64.StdEncoding.EncodeToString([]byte(text)); len(b64) < len(escaped.String())+1 {
		return "data:" + b64
	}
	return "data:," + escaped.String()
}

// isPlain are the unreserved characters of RFC 2396.
func isPlain(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || strings.IndexByte("-_.!~*'()", b) >= 0
}
