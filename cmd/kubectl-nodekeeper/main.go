// Command kubectl-nodekeeper is a plugin of kubectl and oc: it shows the crash
// records, the status and the acts of nodes through the API server, without a
// login to the nodes.
//
//	oc nodekeeper crashes NODE... | --all-nodes | -l SELECTOR
//	oc nodekeeper logs NAMESPACE/POD -c CONTAINER [--crash ID | --previous[=k] | ...]
//	oc nodekeeper status NODE... | --all-nodes | -l SELECTOR
//	oc nodekeeper acts NODE... | --all-nodes | -l SELECTOR
//	oc nodekeeper audit [NODE... | --all-nodes | -l SELECTOR] [--audit-log FILE]
//	oc nodekeeper version
//
// It reads /api/v1/nodes/NODE/proxy/logs/nodekeeper/..., which takes the right
// to get nodes/proxy, and writes nothing anywhere.
//
// Exit codes are those of nodekeeper; of several nodes, the highest.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the program at once.
	context.AfterFunc(ctx, stop)
	os.Exit(newPlugin(os.Stdout, os.Stderr, time.Now).execute(ctx, os.Args[1:]))
}
