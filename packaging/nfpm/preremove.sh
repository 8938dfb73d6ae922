#!/bin/sh
# dpkg says "remove" or "upgrade", rpm how many stay.
set -u
case ${1:-} in
remove | 0) ;;
*) exit 0 ;;
esac

if grep -qrs -e /usr/local/libexec/nodekeeper/kubelet-wrapper /etc/systemd/system/kubelet.service.d /run/systemd/system/kubelet.service.d; then
	echo "the kubelet is started through nodekeeper's kubelet-wrapper, and could not start without: take that drop-in of kubelet.service away first" >&2
	exit 1
fi
if [ -d /run/systemd/system ]; then
	# The kubelet first: nothing else leads it past the proxy that goes.
	[ ! -e /run/nodekeeper/kubeconfig ] || /usr/local/bin/nodekeeper kubeconfig revert --restart-kubelet
	systemctl disable --now nodekeeper-proxy.socket nodekeeper-proxy.service nodekeeper.service nodekeeper.socket
	rm -f /run/nodekeeper/kubeconfig
fi
# Before its program: CRI-O makes no container whose hook cannot be run.
/usr/local/bin/nodekeeper hook uninstall || rm -f /run/containers/oci/hooks.d/50-nodekeeper.json
[ ! -e /run/containers/oci/hooks.d/50-nodekeeper.json ]
