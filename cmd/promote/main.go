// Command nodekeeper-promote marks Secrets and ConfigMaps immutable where that is
// safe, so that kubelets need not watch them. It runs as a Deployment
// (manifests/promote), and by hand:
//
//	nodekeeper-promote --kubeconfig FILE --once             what would be marked, and why
//	nodekeeper-promote --kubeconfig FILE --dry-run=false    mark it, pass after pass
//
// It begins to count the age of content when it first sees it, so a single run
// promotes nothing new unless --min-age is 0.
//
// Exit codes: 0 all is well; 1 it failed, or lost its lease; 2 bad usage.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the program at once.
	context.AfterFunc(ctx, stop)
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
