package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/audit/view"
)

func (p *plugin) audit() *cobra.Command {
	var form cli.Form
	var nodes choice
	var files view.Files
	var families []string
	c := &cobra.Command{
		Use:   "audit [NODE... | --all-nodes | -l SELECTOR] [--audit-log FILE] [--journal FILE]",
		Short: "count what kubelets ask about Secrets and ConfigMaps, and what would save it",
		Long: `Count what kubelets ask about Secrets and ConfigMaps, and what would save it.

Of nodes: the objects that their pods refer to, which of them are immutable or
could be, the WATCHes that come of it, and how many each remedy saves; whether
the guard (nodekeeper proxy) pays there at all. It reads pods, nodes and their
configz (get nodes/proxy), namespaces, and all Secrets and ConfigMaps of the
namespaces of these pods; it shows none of their contents. What it may not read
counts as unknown.

Of files: what nodes did ask, by an API server's audit log, and what a kubelet
says that it did, by its journal. With files alone no cluster is asked; names of
nodes restrict what is counted of an audit log.`,
		Args: cobra.ArbitraryArgs,
	}
	form.Add(c.Flags())
	nodes.add(c)
	files.Add(c.Flags())
	c.Flags().StringSliceVar(&families, "sentinel", []string{"kube-root-ca.crt", "openshift-service-ca.crt"}, "ConfigMaps of one name that are the same in all namespaces")
	c.RunE = cli.Does(func(c *cobra.Command, args []string) error {
		if err := files.Check(); err != nil {
			return cli.Usage(err)
		}
		asked := nodes.all || nodes.selector != "" || len(args) > 0
		if asked || !files.Any() {
			if err := nodes.check(args); err != nil {
				return cli.Usage(err)
			}
		}
		a, err := files.Read(os.Stdin, args, p.now())
		if err != nil {
			return err
		}
		var missed error
		if asked {
			a.Pods, missed = p.expectations(c.Context(), &nodes, args, families)
		}
		return cli.Worst(view.Write(p.out, form, a), files.Draw(a), missed)
	})
	return c
}
