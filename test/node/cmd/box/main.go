// Command box makes, runs and clears away boxes by hand.
//
//	box prepare [KUBELET...]   install packages, build all components and kubelets of these versions, make root and images
//	box run                    boot one box and hold it until Ctrl-C
//	box sweep                  remove what dead runs left behind
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/nodekeeper/nodekeeper/test/node"
	"github.com/nodekeeper/nodekeeper/test/node/components"
	"github.com/nodekeeper/nodekeeper/test/node/host"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	verb := ""
	if len(os.Args) > 1 {
		verb = os.Args[1]
	}
	var err error
	switch verb {
	case "prepare":
		err = prepare(ctx, os.Args[2:])
	case "run":
		err = run(ctx)
	case "sweep":
		err = sweep()
	default:
		err = fmt.Errorf("usage: box prepare | run | sweep")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "box:", err)
		os.Exit(1)
	}
}

// prepare makes what the boxes of both profiles need.
func prepare(ctx context.Context, kubelets []string) error {
	builder, err := components.NewBuilder(os.Stdout)
	if err != nil {
		return err
	}
	for _, kubelet := range append([]string{"", node.OpenShiftKubelet}, kubelets...) {
		if _, err := builder.Prepare(ctx, components.Want{Kubelet: kubelet, API: true, Crictl: true}); err != nil {
			return err
		}
	}
	return nil
}

func sweep() error {
	removed, err := host.Sweep()
	for _, name := range removed {
		fmt.Println("removed", name)
	}
	return err
}
