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
