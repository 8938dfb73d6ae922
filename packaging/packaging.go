// Package packaging holds the files that go onto a node beside the binary.
package packaging

import _ "embed"

// AgentUnit is nodekeeper.service.
//
//go:embed nodekeeper.service
var AgentUnit string

// AgentSocket is nodekeeper.socket.
//
//go:embed nodekeeper.socket
var AgentSocket string

// ProxyUnit is nodekeeper-proxy.service.
//
//go:embed nodekeeper-proxy.service
var ProxyUnit string

// ProxySocket is nodekeeper-proxy.socket.
//
//go:embed nodekeeper-proxy.socket
var ProxySocket string

// ProxyRevertUnit is nodekeeper-proxy-revert.service.
//
//go:embed nodekeeper-proxy-revert.service
var ProxyRevertUnit string

// KubeletWrapper is kubelet-wrapper, which starts the kubelet through the proxy
// where that is ready.
//
//go:embed kubelet-wrapper
var KubeletWrapper string
