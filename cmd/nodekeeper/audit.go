package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/audit/live"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/audit/mounts"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/audit/view"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/kubeconfig"
)

func (p *program) audit() *cobra.Command {
	var form cli.Form
	var files view.Files
	var mounted bool
	var kubelet string
	c := &cobra.Command{
		Use:   "audit [--mounts] [--audit-log FILE] [--journal FILE]",
		Short: "count what the kubelet asks about Secrets and ConfigMaps, and compare what is mounted with it",
		Long: `Count what the kubelet asks about Secrets and ConfigMaps, by an API server's
audit log and by the kubelet's journal, and compare what is mounted on this node
with the live objects.

A mount is found to be of another object than the live one by its content, and
by its time: what was written before the live object was created is of one that
was deleted (kubernetes#119733). --mounts reads the volumes below --kubelet-dir,
and asks for this node's pods and their objects with the kubelet's certificate.
Contents are compared and never shown.

What pods refer to, and what would save requests, is shown by oc nodekeeper audit.`,
		Args: cobra.NoArgs,
	}
	form.Add(c.Flags())
	files.Add(c.Flags())
	c.Flags().BoolVar(&mounted, "mounts", false, "compare what is mounted with the live objects")
	c.Flags().StringVar(&kubelet, "kubelet-dir", "/var/lib/kubelet", "the kubelet's directory")
	c.RunE = cli.Does(func(c *cobra.Command, _ []string) error {
		if !mounted && !files.Any() {
			return cli.Usage(errors.New("what is to be looked at? Say --mounts, --audit-log or --journal"))
		}
		if err := files.Check(); err != nil {
			return cli.Usage(err)
		}
		a, err := files.Read(os.Stdin, nil, p.clock.Now().Wall)
		if err != nil {
			return err
		}
		var missed error
		if mounted {
			a.Mounts, missed = p.compareMounts(c, kubelet)
		}
		return cli.Worst(view.Write(p.out, form, a), files.Draw(a), missed)
	})
	return c
}

func (p *program) compareMounts(c *cobra.Command, kubelet string) (*view.Mounts, error) {
	cfg, err := p.load(c, silently)
	if err != nil {
		return nil, err
	}
	source, err := kubeconfig.Read(cfg.Proxy.Kubeconfig)
	if err != nil {
		return nil, err
	}
	client, err := live.New(source, "nodekeeper-audit/"+versionText())
	if err != nil {
		return nil, err
	}
	defer client.Close()
	pods, err := client.Pods(c.Context())
	if err != nil {
		return nil, err
	}
	all, err := mounts.Compare(c.Context(), kubelet, pods, client.Object, p.clock.Now().Wall)
	if err != nil {
		return nil, err
	}
	return view.MountsOf(client.Node, all), nil
}
