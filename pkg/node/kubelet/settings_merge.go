package kubelet

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/nodekeeper/nodekeeper/internal/regularfile"
)

// maxSettings bounds one configuration file. The kubelet has no bound; its own
// default configuration has 2 KiB.
const maxSettings = 1 << 20

// merged reads the files and puts them together, each drop-in on top of what
// was before it. What could not be read is left out and is in the error.
//
// Mirrors kubelet cmd/kubelet/app/server.go mergeKubeletConfigurations, v1.37.
// One bad file keeps the kubelet from starting at all; here the rest still
// counts, since the kubelet that runs has read the files before they were bad.
func (r *SettingsReader) merged(files []settingsFile) (map[string]any, error) {
	doc := map[string]any{}
	var errs []error
	main := len(r.cfg.Config) == 0
	for _, file := range files {
		if !file.dropIn {
			if file.missing {
				continue
			}
			main = true
		}
		layer, err := readSettings(file)
		if err != nil {
			errs = append(errs, err)
		}
		mergePatch(doc, layer)
	}
	if !main {
		errs = append(errs, fmt.Errorf("no kubelet configuration at %s; set kubelet.config",
			strings.Join(r.cfg.Config, ", ")))
	}
	return doc, oneError(errs...)
}

// readSettings reads one file down to the fields of settingsFields that are
// good. Both results may be set.
func readSettings(file settingsFile) (map[string]any, error) {
	if file.failure != "" {
		return nil, fmt.Errorf("kubelet configuration %s: %s", file.path, file.failure)
	}
	read, err := regularfile.Read(file.path, maxSettings)
	if err != nil {
		return nil, fmt.Errorf("kubelet configuration %s: %s", file.path, inWords(err))
	}
	layer, err := decodeSettings(read.Data, file.dropIn)
	if err != nil {
		err = fmt.Errorf("kubelet configuration %s: %w", file.path, err)
	}
	resolvePath(layer, file)
	return layer, err
}

// resolvePath makes a relative manifest path absolute: below the directory of
// the main file, but for a drop-in below the kubelet's working directory,
// which is the root under systemd.
//
// Mirrors kubelet pkg/kubelet/kubeletconfig/configfiles/configfiles.go Load
// (resolves) and LoadIntoJSON (does not), v1.37.
func resolvePath(layer map[string]any, file settingsFile) {
	path, _ := layer[fieldStaticPodPath].(string)
	if path == "" || filepath.IsAbs(path) {
		return
	}
	base := "/"
	if !file.dropIn {
		base = filepath.Dir(file.path)
	}
	layer[fieldStaticPodPath] = filepath.Join(base, path)
}

// mergePatch applies a JSON merge patch (RFC 7386): objects merge by key, null
// removes, all else replaces.
func mergePatch(doc, patch map[string]any) {
	for key, value := range patch {
		object, isObject := value.(map[string]any)
		switch {
		case value == nil:
			delete(doc, key)
		case isObject:
			old, ok := doc[key].(map[string]any)
			if !ok {
				old = map[string]any{}
			}
			mergePatch(old, object)
			doc[key] = old
		default:
			doc[key] = value
		}
	}
}
