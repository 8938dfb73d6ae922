package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodekeeper/nodekeeper/internal/cli"
)

// collecting are the bounds of a collection.
type collecting struct {
	// root is where the node's file system is mounted; empty for this one.
	root string
	// since leaves out what ended before; 0 for nothing.
	since time.Duration
	// recordBytes is how much is taken of the end of one log, nodeBytes of all
	// that is taken of one node.
	recordBytes, nodeBytes int64
}

// gatherSince is what oc adm must-gather --since hands on.
func gatherSince(getenv func(string) string) (time.Duration, error) {
	text := getenv("MUST_GATHER_SINCE")
	if text == "" {
		return 0, nil
	}
	var since cli.TimeSpan
	if err := since.Set(text); err != nil {
		return 0, fmt.Errorf("MUST_GATHER_SINCE: %w", err)
	}
	return time.Duration(since), nil
}

func (p *program) gather() *cobra.Command {
	var to string
	var o collecting
	var nodes []string
	c := &cobra.Command{
		Use:   "gather",
		Short: "collect what explains a fault into a directory, as oc adm must-gather has it",
		Long: `Collect what explains a fault into a directory, as oc adm must-gather has it: status,
acts, timeline, the index of crash records with their facts and the ends of their
logs, the configuration, the journal of nodekeeper's units.

In a pod it collects of all nodes, through the API server and the kubelets, and the
cluster's own objects of nodekeeper; elsewhere, or with --root, of this node. What is
not to be had is told and left out, and is no failure. Logs may hold secrets: look at
what you pass on.`,
		Args: cobra.NoArgs,
	}
	since, sinceErr := gatherSince(os.Getenv)
	c.Flags().StringVar(&to, "dest-dir", "/must-gather", "the directory, which is made if it is not there")
	c.Flags().StringVar(&o.root, "root", "", "where the file system of the node is mounted")
	c.Flags().StringSliceVar(&nodes, "node", nil, "in a pod: of these nodes only")
	o.since = since
	c.Flags().Var((*cli.TimeSpan)(&o.since), "since", "leave out what ended before (default: MUST_GATHER_SINCE, else nothing)")
	c.Flags().Int64Var(&o.recordBytes, "record-bytes", 1<<20, "how much to take of the end of one log")
	c.Flags().Int64Var(&o.nodeBytes, "node-bytes", 64<<20, "how much to take of one node")
	c.RunE = cli.Does(func(c *cobra.Command, _ []string) error {
		if sinceErr != nil && !c.Flags().Changed("since") {
			fmt.Fprintf(c.ErrOrStderr(), "%v: nothing is left out\n", sinceErr)
		}
		if o.recordBytes < 1 || o.nodeBytes < 1 {
			return cli.Usage(errors.New("--record-bytes and --node-bytes must be above 0"))
		}
		if o.root != "" {
			info, err := os.Stat(o.root)
			if err == nil && !info.IsDir() {
				err = fmt.Errorf("%s: no directory", o.root)
			}
			if err == nil {
				o.root, err = filepath.Abs(o.root)
			}
			if err != nil {
				return cli.Usage(fmt.Errorf("--root: %w", err))
			}
		}
		var server *apiServer
		if o.root == "" && os.Getenv("KUBERNETES_SERVICE_HOST") != "" {
			var err error
			if server, err = inPod(os.Getenv, serviceAccountDir); err != nil {
				return err
			}
		}
		if server == nil && len(nodes) > 0 {
			return cli.Usage(errors.New("--node is for the pod of a must-gather: here it is this node"))
		}
		return p.collect(c.Context(), to, server, nodes, o)
	})
	return c
}

// collect collects of the nodes of a cluster, or of this node where there is no
// server. Only that nothing could be written is an error.
func (p *program) collect(ctx context.Context, to string, server *apiServer, nodes []string, o collecting) error {
	all, err := newCollection(to, o.nodeBytes)
	if err != nil {
		return err
	}
	defer all.close()
	all.save("version", []byte(name+"\n"+versionText()+"\n"))
	if server != nil {
		p.ofCluster(ctx, all, server, nodes, o)
	} else {
		p.ofHost(ctx, all, o)
	}
	for _, text := range all.problems {
		p.warn(text)
	}
	all.finish()
	if err := errors.Join(ctx.Err(), all.err); err != nil {
		return fmt.Errorf("collect into %s: %w", to, err)
	}
	return nil
}
