package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/nodekeeper/nodekeeper/test/node"
)

// run holds a box until Ctrl-C.
func run(ctx context.Context) error {
	var options node.Options
	flags := flag.NewFlagSet("box run", flag.ContinueOnError)
	flags.StringVar(&options.Name, "name", "node1", "name of the node")
	flags.StringVar(&options.Kubelet, "kubelet", "", "version of the kubelet, or its beginning")
	openShift := flags.Bool("openshift", false, "a node as OpenShift has it")
	flags.BoolVar(&options.CRIProxy, "cri-proxy", false, "put the fault proxy between kubelet and CRI-O")
	flags.StringVar(&options.CollectDir, "collect", "", "folder for all logs at the end")
	api := flags.String("api", "none", "none: standalone kubelet; closed: kubeconfig to a closed port; open: with API server")
	switch err := flags.Parse(os.Args[2:]); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	}
	if *openShift {
		options.Profile = node.OpenShift
	}
	switch *api {
	case "none":
	case "closed":
		options.Kubeconfig, options.API = node.APIClosed, true
	case "open":
		options.Kubeconfig = node.APIOpen
	default:
		return fmt.Errorf("--api %s: want none, closed or open", *api)
	}
	begin := time.Now()
	box, err := node.Start(ctx, options)
	if err != nil {
		return err
	}
	fmt.Printf("box %s runs after %.1f s; enter it with\n\n    %s\n\nCtrl-C ends it\n", box.Name, time.Since(begin).Seconds(), box.EnterCommand())
	<-ctx.Done()
	fmt.Println("ending the box")
	return box.Stop()
}
