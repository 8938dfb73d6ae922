package node

import "fmt"

// CritestRegistry is where a box with Options.Critest pulls critest's images
// from, whatever registry their names say. Nothing listens there by itself.
const CritestRegistry = "127.0.0.1:5000"

// addCritest sends CRI-O to that registry.
func addCritest(t *tree) {
	conf := ""
	for _, registry := range []string{"registry.k8s.io", "k8s.gcr.io", "gcr.io"} {
		conf += fmt.Sprintf("[[registry]]\nprefix = %q\nlocation = %q\ninsecure = true\n", registry, CritestRegistry)
	}
	t.add("/etc/containers/registries.conf.d/50-critest.conf", conf)
}

// CritestCommand is critest against the box's CRI-O and NRI, with more flags.
// It expects to be the only user of CRI-O: stop the kubelet before.
func CritestCommand(flags ...string) []string {
	return append([]string{"/opt/box/critest/critest", "--runtime-endpoint=unix://" + crioSocket, "--nri-socket=/run/nri/nri.sock"}, flags...)
}
