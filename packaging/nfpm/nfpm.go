// Package nfpm holds what only a node without a machine config operator gets:
// how the .deb and .rpm are put together, their scripts, and first settings.
package nfpm

import _ "embed"

// Settings is the first /etc/nodekeeper/config.yaml: the agent only says what it
// would do.
//
//go:embed config.yaml
var Settings []byte

// Condition is a drop-in of nodekeeper.service, which keeps the agent from
// starting without settings.
//
//go:embed settings.conf
var Condition []byte
