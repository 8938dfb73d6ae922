// Command box makes, runs and clears away boxes by hand.
//
//	box prepare     install packages, build all components, make root and images
//	box run         boot one box and hold it until Ctrl-C
//	box sweep       remove what dead runs left behind
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

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
		err = prepare(ctx)
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

func prepare(ctx context.Context) error {
	builder, err := components.NewBuilder(os.Stdout)
	if err != nil {
		return err
	}
	_, err = builder.Prepare(ctx, components.Want{API: true, Crictl: true})
	return err
}

func sweep() error {
	removed, err := host.Sweep()
	for _, name := range removed {
		fmt.Println("removed", name)
	}
	return err
}
