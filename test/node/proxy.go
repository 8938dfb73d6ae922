package node

import (
	"context"
	"fmt"

	"github.com/nodekeeper/nodekeeper/packaging"
)

// The watch guard in the box.
const (
	WrapperProgram = "/usr/local/bin/kubelet-wrapper"
	Proxy          = "nodekeeper-proxy.service"
	proxyListener  = "nodekeeper-proxy.socket"
	// KubeletKubeconfig is the kubelet's own kubeconfig, and KubeletPKI the
	// directory of its certificate, in profile Plain. In profile OpenShift the
	// former is the one that a kubelet without a certificate begins with.
	KubeletKubeconfig = "/etc/kubernetes/kubeconfig"
	KubeletPKI        = pkiDir
)

// InstallProxy installs the units of the watch guard, starts it, and has the
// kubelet go through it. It needs Options.Proxy, and InstallAgent for program
// and configuration.
func (b *Box) InstallProxy(ctx context.Context) error {
	for name, text := range map[string]string{
		Proxy: packaging.ProxyUnit, proxyListener: packaging.ProxySocket,
		"nodekeeper-proxy-revert.service": packaging.ProxyRevertUnit,
	} {
		if err := b.WriteFile("/etc/systemd/system/"+name, []byte(text), 0o644); err != nil {
			return fmt.Errorf("install the proxy: %w", err)
		}
	}
	for _, args := range [][]string{
		{"daemon-reload"}, {"enable", Proxy, proxyListener}, {"start", proxyListener, Proxy}, {"restart", b.options.KubeletUnit},
	} {
		if _, err := b.Systemctl(ctx, args...); err != nil {
			return fmt.Errorf("install the proxy: %w", err)
		}
	}
	return nil
}
