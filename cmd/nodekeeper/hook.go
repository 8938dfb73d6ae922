package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/lifecycle/hooksd"
)

const hookHelp = `The OCI hook gives the log of a static pod's container a second name before the
container begins, also while the agent does not run. The agent installs it where the
configuration says logs.hook.directory; these commands are for nodes where something
else does, and for looking.

The hook is used for containers that are created afterwards. Its program must stay
where it is until all that were created with it are gone.`

// hook is the flags of the commands about the OCI hook.
type hook struct {
	dir, program string
	poststop     bool
}

func (p *program) hook() *cobra.Command {
	c := &cobra.Command{
		Use:   "hook",
		Short: "install, remove or check the OCI hook that keeps logs from a container's birth",
		Long:  hookHelp,
		Args:  cli.OnlyCommands,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(p.hookInstall(), p.hookUninstall(), p.hookCheck())
	return c
}

func (p *program) hookInstall() *cobra.Command {
	var h hook
	c := &cobra.Command{
		Use:   "install",
		Short: "have CRI-O run the hook",
		Args:  cobra.NoArgs,
	}
	h.add(c, true)
	c.RunE = cli.Does(func(c *cobra.Command, _ []string) error {
		o, err := p.chosenHook(c, h)
		if err != nil {
			return err
		}
		if err := hooksd.Install(o); err != nil {
			return asRoot(err)
		}
		_, err = fmt.Fprintf(p.out, "installed in %s\n", o.Dir)
		return err
	})
	return c
}

func (p *program) hookUninstall() *cobra.Command {
	var h hook
	c := &cobra.Command{
		Use:   "uninstall",
		Short: "have CRI-O run it no more; its program stays",
		Args:  cobra.NoArgs,
	}
	h.add(c, false)
	c.RunE = cli.Does(func(c *cobra.Command, _ []string) error {
		o, err := p.chosenHook(c, h)
		if err != nil {
			return err
		}
		if err := hooksd.Uninstall(o.Dir); err != nil {
			return asRoot(err)
		}
		_, err = fmt.Fprintf(p.out, "removed from %s; %s has to stay for the containers that were created with it\n", o.Dir, o.HookPath)
		return err
	})
	return c
}

func (p *program) hookCheck() *cobra.Command {
	var h hook
	c := &cobra.Command{
		Use:   "check",
		Short: "say what is wrong with the hook, and with others that keep CRI-O from starting",
		Args:  cobra.NoArgs,
	}
	h.add(c, true)
	c.RunE = cli.Does(func(c *cobra.Command, _ []string) error {
		o, err := p.chosenHook(c, h)
		if err != nil {
			return err
		}
		var problems []error
		for _, line := range hooksd.Check(o, dirsWith(o.Dir)) {
			problems = append(problems, errors.New(line))
		}
		if len(problems) > 0 {
			return errors.Join(problems...)
		}
		_, err = fmt.Fprintf(p.out, "the hook is installed in %s\n", o.Dir)
		return err
	})
	return c
}

// add adds the flags. What is not given is the configuration's.
func (h *hook) add(c *cobra.Command, poststop bool) {
	flags := c.Flags()
	flags.StringVar(&h.dir, "dir", "", "one of CRI-O's hooks_dir (default: logs.hook.directory)")
	flags.StringVar(&h.program, "binary", "", "the hook's program (default: logs.hook.program)")
	if poststop {
		flags.BoolVar(&h.poststop, "poststop", false, "have the removal of containers reported too")
	}
}

func (p *program) chosenHook(c *cobra.Command, h hook) (hooksd.Options, error) {
	cfg, err := p.load(c, silently)
	if err != nil {
		return hooksd.Options{}, err
	}
	o := hookOptions(cfg)
	o.Poststop = h.poststop
	if h.dir != "" {
		o.Dir = h.dir
	}
	if h.program != "" {
		o.HookPath = h.program
	}
	if o.Dir == "" {
		return o, cli.Usage(errors.New("the configuration has no logs.hook.directory: name a directory with --dir"))
	}
	return o, nil
}

// hookOptions are the hook that the configuration asks for, by these commands and
// by the agent. Their Dir is empty if there is to be none.
func hookOptions(cfg config.Configuration) hooksd.Options {
	return hooksd.Options{
		Dir:      cfg.Logs.Hook.Directory,
		HookPath: cfg.Logs.Hook.Program,
		Args:     []string{"--root", cfg.Directories.Log, "--run", cfg.Directories.Run},
	}
}

// dirsWith is where CRI-O is known to read hooks, if the directory is there.
func dirsWith(dir string) []string {
	if dirs := hooksd.Dirs(); slices.Contains(dirs, dir) {
		return dirs
	}
	return []string{dir}
}
