package kubelet

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// flags are those of the kubelet's arguments that say how it works.
type flags struct {
	// config and configDir name its configuration files; empty for none.
	config, configDir string
	// kubeconfigs are all that were given. The last counts for the kubelet; the
	// one before it is its own where a proxy's was added.
	kubeconfigs []string
	// hostname is --hostname-override. cloud is --cloud-provider.
	hostname, cloud string
	rootDir         string
	// labels are the keys of --node-labels.
	labels []string
	// fields are flags that repeat a field of the configuration, by its name,
	// as decodeSettings gives it.
	fields map[string]any
}

// repeats are the flags that are in force instead of a field of the files.
var repeats = map[string]string{
	"cgroup-driver":              fieldCgroupDriver,
	"container-runtime-endpoint": fieldEndpoint,
	"feature-gates":              fieldFeatureGates,
	"file-check-frequency":       fieldFileCheck,
	"healthz-bind-address":       fieldHealthzAddress,
	"healthz-port":               fieldHealthzPort,
	"manifest-url":               fieldStaticPodURL,
	"max-pods":                   fieldMaxPods,
	"pod-manifest-path":          fieldStaticPodPath,
}

// others are the flags that no file can give.
var others = []string{"cloud-provider", "config", "config-dir", "hostname-override", "kubeconfig", "node-labels", "root-dir"}

// parseFlags reads a kubelet's arguments, those without the program's name.
// Relative paths count from dir. The kubelet runs, so that it has found nothing
// wrong with them; what is wrong here is in the error, and left out.
//
// Mirrors kubelet cmd/kubelet/app/server.go NewKubeletCommand and
// kubeletConfigFlagPrecedence, v1.33: of a flag that is there twice the last
// counts, but labels and gates are put together.
func parseFlags(arguments []string, dir string) (flags, error) {
	given := valuesOf(arguments)
	last := func(name string) string {
		if values := given[name]; len(values) > 0 {
			return values[len(values)-1]
		}
		return ""
	}
	path := func(path string) string {
		if path == "" || filepath.IsAbs(path) {
			return path
		}
		return filepath.Join("/", dir, path)
	}
	f := flags{
		config: path(last("config")), configDir: path(last("config-dir")), rootDir: path(last("root-dir")),
		hostname: last("hostname-override"), cloud: last("cloud-provider"),
		fields: map[string]any{},
	}
	for _, name := range given["kubeconfig"] {
		if name != "" {
			f.kubeconfigs = append(f.kubeconfigs, path(name))
		}
	}
	labels := map[string]bool{}
	for label := range strings.SplitSeq(strings.Join(given["node-labels"], ","), ",") {
		if key, _, _ := strings.Cut(label, "="); strings.TrimSpace(key) != "" {
			labels[strings.TrimSpace(key)] = true
		}
	}
	f.labels = slices.Sorted(maps.Keys(labels))

	var bad []error
	for _, name := range slices.Sorted(maps.Keys(repeats)) {
		if len(given[name]) == 0 {
			continue
		}
		var value any = last(name)
		switch name {
		case "feature-gates":
			value = gatesOf(given[name])
		case "pod-manifest-path":
			value = path(last(name))
		case "healthz-port", "max-pods":
			if n, err := strconv.Atoi(last(name)); err == nil {
				value = float64(n)
			}
		}
		value, err := checkField(repeats[name], value)
		if err != nil {
			bad = append(bad, fmt.Errorf("the kubelet's --%s: %w", name, err))
		}
		if value != nil {
			f.fields[repeats[name]] = value
		}
	}
	return f, oneError(bad...)
}

// valuesOf are the values of the flags that matter, in their order. Each has
// one: behind the equals sign, or in the next argument, whatever that looks
// like. Names may have underscores instead of dashes (component-base cli/flag
// WordSepNormalizeFunc, v0.33).
func valuesOf(arguments []string) map[string][]string {
	given := map[string][]string{}
	for i := 0; i < len(arguments) && arguments[i] != "--"; i++ {
		name, value, inside := strings.Cut(arguments[i], "=")
		name, dashed := strings.CutPrefix(name, "-")
		name = strings.ReplaceAll(strings.TrimPrefix(name, "-"), "_", "-")
		if _, known := repeats[name]; !dashed || !known && !slices.Contains(others, name) {
			continue
		}
		if !inside {
			if i++; i == len(arguments) {
				break
			}
			value = arguments[i]
		}
		given[name] = append(given[name], value)
	}
	return given
}

// gatesOf reads "A=true,B=false". What is no truth value stays a text.
func gatesOf(values []string) map[string]any {
	gates := map[string]any{}
	for pair := range strings.SplitSeq(strings.Join(values, ","), ",") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if on, err := strconv.ParseBool(value); err == nil {
			gates[name] = on
		} else {
			gates[name] = value
		}
	}
	return gates
}
