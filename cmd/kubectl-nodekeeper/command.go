package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/nodekeeper/nodekeeper/internal/cli"
)

// name is what error messages begin with.
const name = "nodekeeper"

// plugin is what all commands share.
type plugin struct {
	out, err io.Writer
	now      func() time.Time
	kube     *genericclioptions.ConfigFlags
	// dir is the record root, below the node's /var/log.
	dir string
	// poll is how often a followed log is asked for; the reader's choice if 0.
	poll time.Duration
}

func newPlugin(out, err io.Writer, now func() time.Time) *plugin {
	return &plugin{out: out, err: err, now: now, kube: genericclioptions.NewConfigFlags(true)}
}

// execute runs one command line and returns the exit code.
func (p *plugin) execute(ctx context.Context, args []string) int {
	root := p.root()
	root.SetArgs(args)
	root.SetOut(p.out)
	root.SetErr(p.err)
	return cli.Code(root.ExecuteContext(ctx), p.err, name)
}

func (p *plugin) root() *cobra.Command {
	root := &cobra.Command{
		Use:         "kubectl-nodekeeper",
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "oc nodekeeper"},
		Short:       "see why static pods of nodes ended, without a login to the nodes",
		Long: `See why static pods of nodes ended, without a login to the nodes.

It reads /var/log/nodekeeper of nodes through the API server and the kubelet,
which takes the right to get nodes/proxy (cluster-admin has it, and on OpenShift
system:node-admins).

Exit codes: 0 all is well; 1 the command failed, for some node at least; 2 bad
usage; for status also: 3 something guarded is wrong beyond its deadline; 4 the
agent has not looked for too long. Of several nodes, the highest.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cli.OnlyCommands,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	p.kube.AddFlags(root.PersistentFlags())
	root.PersistentFlags().StringVar(&p.dir, "log-dir", "nodekeeper", "crash records, below /var/log of nodes")
	root.AddCommand(p.crashes(), p.logs(), p.status(), p.acts(), p.audit(), p.version())
	return root
}

// version is set by the linker: -X main.version=v1.2.3.
var version = ""

func (p *plugin) version() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version of the plugin",
		Args:  cobra.NoArgs,
		RunE: cli.Does(func(*cobra.Command, []string) error {
			text := version
			if info, ok := debug.ReadBuildInfo(); ok && text == "" {
				text = info.Main.Version
			}
			_, err := fmt.Fprintf(p.out, "kubectl-nodekeeper %s (%s, %s/%s)\n", text, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		}),
	}
}
