// Command nodekeeper keeps static pods running on a node, and shows what it
// sees and does.
//
//	nodekeeper run                     the agent (nodekeeper.service)
//	nodekeeper status                  what it sees, and what it waits for
//	nodekeeper acts                    what it has done, and what came of it
//	nodekeeper crashes                 which containers ended, when and how
//	nodekeeper logs NAMESPACE/POD      the log of one, of one that ended too
//	nodekeeper export -o FILE.tgz      all that is kept of them, to pass on
//	nodekeeper report -o FILE.html     one page of what happened
//	nodekeeper gather                  all that explains a fault, as must-gather has it
//	nodekeeper hold, release ID        keep a record for as long as it takes
//	nodekeeper hook check              the OCI hook: install, uninstall, check
//	nodekeeper audit                   what the kubelet asks of the API server
//	nodekeeper proxy                   the watch guard (nodekeeper-proxy.service)
//	nodekeeper kubeconfig check        the kubelet's way through it: derive, check, revert
//	nodekeeper pause, resume           no acts for a while
//	nodekeeper config print-defaults   the configuration, explained
//	nodekeeper config check [FILE]     what is wrong in one
//	nodekeeper render                  the MachineConfigs that bring it onto nodes
//	nodekeeper install --host DIR      the agent onto a node from a container, for a trial
//	nodekeeper version
//
// Exit codes:
//
//	0  all is well
//	1  the command failed
//	2  bad usage, or a bad configuration
//	3  status: something guarded is down or wrong beyond its deadline
//	4  status: the agent does not run, or has not looked for too long
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/nodekeeper/nodekeeper/pkg/node/clock"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the program at once.
	context.AfterFunc(ctx, stop)
	p := &program{out: os.Stdout, err: os.Stderr, clock: clock.New("/proc")}
	os.Exit(p.execute(ctx, commandLine(os.Args)))
}

// commandLine is what the program is called with. Under the name gather, which
// oc adm must-gather calls without arguments, it is that command.
func commandLine(args []string) []string {
	if filepath.Base(args[0]) == "gather" {
		return append([]string{"gather"}, args[1:]...)
	}
	return args[1:]
}
