package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/reader"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/view"
)

func (p *plugin) crashes() *cobra.Command {
	var form cli.Form
	var filter view.Filter
	var nodes choice
	var pod string
	c := &cobra.Command{
		Use:   "crashes NODE... | --all-nodes | -l SELECTOR",
		Short: "list the attempts of containers that have ended, newest last",
		Long: `List the attempts of containers that have ended, newest last: how, and how much
of their log is kept. The log of one: oc nodekeeper logs --node NODE --crash ID.

All namespaces are shown unless -n names one. CLASS is one of
` + view.ClassList() + `.`,
		Args: cobra.ArbitraryArgs,
	}
	form.Add(c.Flags())
	filter.AddBounds(c.Flags())
	c.Flags().StringVar(&pod, "pod", "", "only this pod: POD or NAMESPACE/POD")
	nodes.add(c)
	c.RunE = cli.Does(func(c *cobra.Command, args []string) error {
		if err := nodes.check(args); err != nil {
			return err
		}
		filter.Namespace = *p.kube.Namespace
		if pod != "" {
			if err := filter.Name(pod); err != nil {
				return cli.Usage(err)
			}
		}
		answers, err := gather(c.Context(), p, &nodes, args, func(ctx context.Context, files *nodeFiles) (*record.Index, error) {
			index, err := reader.Load(ctx, files)
			return index, absent(err)
		})
		if len(answers) == 0 && err != nil {
			return err
		}
		now := p.now()
		var indexes []*record.Index
		for _, a := range answers {
			a.value.Node = a.node
			indexes = append(indexes, filter.Of(a.value, now))
		}
		if nodes.several(args) {
			return cli.Worst(view.CrashesOfNodes(p.out, form, indexes, now), err)
		}
		return cli.Worst(view.Crashes(p.out, form, indexes[0], now), err)
	})
	return c
}
