// Package kubeconfig leads the kubelet through the proxy: it reads the
// kubelet's own kubeconfig, which it never writes, and derives one that names
// the proxy and is otherwise the same.
//
// The server name that the kubelet verifies stays the API server's, and the
// certificate authorities are those of the cluster and the node. So both the
// proxy and, behind a proxy that only passes bytes on, the API server itself
// are who the kubelet expects.
package kubeconfig
