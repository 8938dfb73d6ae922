package components

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// kubernetesModule is the one whose API server and kubectl every box has, and
// whose kubelet is the default. The kubelets of other versions are modules of
// their own beside it, named kubernetes-MINOR.
const kubernetesModule = "kubernetes"

// kubernetes is the module of a kubelet. The version is that of a module, or
// its beginning ("1.33"); "" is the default. What the program says of its
// version is what its go.mod pins.
func (b *Builder) kubernetes(version string) (module, error) {
	pinned, err := b.Kubelets()
	if err != nil {
		return module{}, err
	}
	name := kubernetesModule
	if version != "" {
		name, err = findKubelet(pinned, version)
		if err != nil {
			return module{}, err
		}
	}
	major, rest, _ := strings.Cut(pinned[name], ".")
	minor, _, _ := strings.Cut(rest, ".")
	stamp := "-X k8s.io/component-base/version."
	m := module{
		name:     name,
		binaries: map[string]string{"k8s.io/kubernetes/cmd/kubelet": "kubelet"},
		flags: []string{"-trimpath", "-ldflags", "-s -w " + stamp + "gitVersion=v" + pinned[name] +
			" " + stamp + "gitMajor=" + major + " " + stamp + "gitMinor=" + minor},
		first: "about 8 minutes the first time",
	}
	if name == kubernetesModule {
		m.binaries["k8s.io/kubernetes/cmd/kube-apiserver"] = "kube-apiserver"
		m.binaries["k8s.io/kubernetes/cmd/kubectl"] = "kubectl"
		m.first = "about 10 minutes the first time"
	}
	return m, nil
}

// Kubelets are the versions that can be had, without a "v", by the names of
// their modules.
func (b *Builder) Kubelets() (map[string]string, error) {
	files, err := filepath.Glob(filepath.Join(b.source, "components", kubernetesModule+"*", "go.mod"))
	if err != nil {
		return nil, err
	}
	pinned := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read pinned versions: %w", err)
		}
		version := requiredVersion(string(text), "k8s.io/kubernetes")
		if version == "" {
			return nil, fmt.Errorf("%s requires no version of k8s.io/kubernetes", file)
		}
		pinned[filepath.Base(filepath.Dir(file))] = strings.TrimPrefix(version, "v")
	}
	return pinned, nil
}

// findKubelet returns the name of the module that has the version.
func findKubelet(pinned map[string]string, version string) (string, error) {
	var known []string
	for name, full := range pinned {
		if full == version || strings.HasPrefix(full, version+".") {
			return name, nil
		}
		known = append(known, full)
	}
	slices.Sort(known)
	return "", fmt.Errorf("no module below test/components has kubelet %s: there are %s", version, strings.Join(known, ", "))
}

// requiredVersion finds the version of a module in the text of a go.mod.
func requiredVersion(text, path string) string {
	for line := range strings.SplitSeq(text, "\n") {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) >= 2 && fields[0] == path && strings.HasPrefix(fields[1], "v") {
			return fields[1]
		}
	}
	return ""
}
