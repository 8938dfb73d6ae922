package node

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/nodekeeper/nodekeeper/packaging"
)

const (
	// nodeIP lies on the box's loopback: the kubelet refuses 127.0.0.1.
	nodeIP = "192.0.2.10"
	// apiPort is the one that the kubelet's kubeconfig names.
	apiPort = 6443
	// ManifestDir is where the kubelet finds its static pods.
	ManifestDir   = "/etc/kubernetes/manifests"
	kubeletConfig = "/etc/kubernetes/kubelet.conf"
	kubeletDropIn = "/etc/kubernetes/kubelet.conf.d"
	kubeconfig    = "/etc/kubernetes/kubeconfig"
)

// addKubelet writes the kubelet's configuration.
func addKubelet(t *tree, options Options) error {
	endpoint := crioSocket
	if options.CRIProxy {
		endpoint = proxySocket
	}
	config := map[string]any{
		"apiVersion":               "kubelet.config.k8s.io/v1beta1",
		"kind":                     "KubeletConfiguration",
		"address":                  "127.0.0.1",
		"healthzBindAddress":       "127.0.0.1",
		"healthzPort":              10248,
		"authentication":           map[string]any{"anonymous": map[string]any{"enabled": true}, "webhook": map[string]any{"enabled": false}},
		"authorization":            map[string]any{"mode": "AlwaysAllow"},
		"containerRuntimeEndpoint": "unix://" + endpoint,
		"imageServiceEndpoint":     "unix://" + crioSocket,
		"cgroupDriver":             "cgroupfs",
		"failCgroupV1":             false,
		"failSwapOn":               false,
		"staticPodPath":            ManifestDir,
		"enableServer":             true,
		// The machine's own disk and memory are not what is tested.
		"evictionHard":                map[string]any{"memory.available": "20Mi", "nodefs.available": "1%", "nodefs.inodesFree": "1%", "imagefs.available": "1%"},
		"imageGCHighThresholdPercent": 100,
		"imageGCLowThresholdPercent":  99,
		"registerWithTaints":          []any{},
	}
	if options.KubeletConfig != nil {
		options.KubeletConfig(config)
	}
	text, err := yaml.Marshal(config)
	if err != nil {
		return fmt.Errorf("write the kubelet's configuration: %w", err)
	}
	t.add(kubeletConfig, string(text))
	if options.Proxy {
		t.files[WrapperProgram] = file{[]byte(packaging.KubeletWrapper), 0o755}
	}
	t.add(ManifestDir+"/.keep", "")
	t.add(kubeletDropIn+"/.keep", "")
	for name, fragment := range options.KubeletDropIns {
		t.add(kubeletDropIn+"/"+name, fragment)
	}
	return nil
}

func kubeletCommand(options Options) string {
	var words []string
	if options.Proxy {
		words = append(words, WrapperProgram)
	}
	words = append(words,
		"/usr/local/bin/kubelet", "--config="+kubeletConfig, "--config-dir="+kubeletDropIn,
		"--hostname-override="+options.Name, "--node-ip="+nodeIP, "--v=2",
	)
	if options.Kubeconfig != Standalone {
		words = append(words, "--kubeconfig="+kubeconfig)
	}
	return strings.Join(words, " ")
}
