package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

const help = `nodekeeper brings back static-pod containers that the kubelet forgot, and keeps
the logs of those that crashed.

Exit codes: 0 all is well; 1 the command failed; 2 bad usage or configuration;
for status also: 3 something guarded is wrong beyond its deadline, or the
manifests cannot be read; 4 the agent does not run, or has not looked for too long.`

// name is what error messages begin with.
const name = "nodekeeper"

// program is what all commands share.
type program struct {
	out, err io.Writer
	// path is the configuration's; chosen is set when it was named.
	path  string
	clock node.Clock
	// processes is the directory of processes; empty is /proc.
	processes string
}

// execute runs one command line and returns the exit code.
func (p *program) execute(ctx context.Context, args []string) int {
	root := p.root()
	root.SetArgs(args)
	root.SetOut(p.out)
	root.SetErr(p.err)
	return cli.Code(root.ExecuteContext(ctx), p.err, name)
}

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:           name,
		Short:         "keep static pods running",
		Long:          help,
		Version:       versionText(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cli.OnlyCommands,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.PersistentFlags().StringVar(&p.path, "config", config.DefaultPath, "configuration file")
	root.AddCommand(p.run(), p.status(), p.acts(), p.crashes(), p.logs(), p.export(), p.report(), p.gather(), p.hold(), p.release(), p.hook(), p.audit(), p.proxy(), p.kubeconfig(), p.pause(), p.resume(), p.config(), p.render(), p.install(), p.version())
	return root
}

// load reads the configuration. No file at the default place means defaults,
// which said is told; a file that was named has to be there.
func (p *program) load(c *cobra.Command, said func(string)) (config.Configuration, error) {
	cfg, err := config.Load(p.path)
	switch {
	case err == nil:
		return cfg, nil
	case errors.Is(err, fs.ErrNotExist) && !c.Flags().Changed("config"):
		said(fmt.Sprintf("no configuration in %s: all defaults", p.path))
		return config.Default(), nil
	}
	return config.Configuration{}, cli.Usage(err)
}

func silently(string) {}
