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
	kubeletState  = "/var/lib/kubelet"
	// kubeletProgram is the kubelet of the version wanted, to which a profile's
	// path leads.
	kubeletProgram = "/opt/box/kubelet"
)

// kubeletFiles is where a profile has them.
type kubeletFiles struct {
	program, dropIns, kubeconfig string
}

func (p Profile) files() kubeletFiles {
	if p == OpenShift {
		return kubeletFiles{"/usr/bin/kubelet", "/etc/openshift/kubelet.conf.d", kubeletState + "/kubeconfig"}
	}
	return kubeletFiles{"/usr/local/bin/kubelet", "/etc/kubernetes/kubelet.conf.d", KubeletKubeconfig}
}

// KubeletDropInDir is the kubelet's --config-dir.
func (b *Box) KubeletDropInDir() string { return b.options.Profile.files().dropIns }

// KubeletUnit is the unit that runs the kubelet.
func (b *Box) KubeletUnit() string { return b.options.KubeletUnit }

// addKubelet writes the kubelet's configuration.
func addKubelet(t *tree, options Options) error {
	config := map[string]any{
		"apiVersion":         "kubelet.config.k8s.io/v1beta1",
		"kind":               "KubeletConfiguration",
		"address":            "127.0.0.1",
		"healthzBindAddress": "127.0.0.1",
		"healthzPort":        10248,
		"authentication":     map[string]any{"anonymous": map[string]any{"enabled": true}, "webhook": map[string]any{"enabled": false}},
		"authorization":      map[string]any{"mode": "AlwaysAllow"},
		"cgroupDriver":       "cgroupfs",
		"failCgroupV1":       false,
		"failSwapOn":         false,
		"staticPodPath":      ManifestDir,
		"enableServer":       true,
		// The machine's own disk and memory are not what is tested.
		"evictionHard":                map[string]any{"memory.available": "20Mi", "nodefs.available": "1%", "nodefs.inodesFree": "1%", "imagefs.available": "1%"},
		"imageGCHighThresholdPercent": 100,
		"imageGCLowThresholdPercent":  99,
		"registerWithTaints":          []any{},
	}
	if options.Profile == OpenShift {
		addOpenShiftKubelet(config, options)
	} else {
		config["containerRuntimeEndpoint"] = "unix://" + criEndpoint(options)
		config["imageServiceEndpoint"] = "unix://" + crioSocket
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
	files := options.Profile.files()
	t.link(files.program, kubeletProgram)
	t.add(files.dropIns+"/.keep", "")
	for name, fragment := range options.KubeletDropIns {
		t.add(files.dropIns+"/"+name, fragment)
	}
	return nil
}

// criEndpoint is the socket that the kubelet calls CRI on.
func criEndpoint(options Options) string {
	if options.CRIProxy {
		return proxySocket
	}
	return crioSocket
}

func kubeletCommand(options Options) string {
	files := options.Profile.files()
	var words []string
	if options.Proxy {
		words = append(words, WrapperProgram)
	}
	words = append(words, files.program, "--config="+kubeletConfig, "--config-dir="+files.dropIns)
	if options.Kubeconfig != Standalone {
		words = append(words, "--kubeconfig="+files.kubeconfig)
	}
	if options.Profile == OpenShift {
		words = append(words, openShiftFlags(options)...)
	} else {
		words = append(words, "--hostname-override="+options.Name, "--node-ip="+nodeIP, "--v=2")
	}
	return strings.Join(words, " ")
}
