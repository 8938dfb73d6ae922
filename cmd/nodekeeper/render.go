package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/internal/statefile"
	"github.com/nodekeeper/nodekeeper/pkg/machineconfig"
)

const renderHelp = `Write the MachineConfigs that bring nodekeeper onto the nodes of one pool, and what
goes with them, into an empty directory. Its README.md says what to do with them.

Steps: install; upgrade (another image, forwards or back); inert and then uninstall
to take nodekeeper off the nodes again.

Settings of your own act unless they say restart.dryRun: true. --features and
--dry-run beside them must agree with them.`

// maxSettings is more than is taken for settings.
const maxSettings = 1 << 20

func (p *program) render() *cobra.Command {
	var o machineconfig.Options
	var features []string
	var step, settings, dir string
	var dryRun bool
	c := &cobra.Command{
		Use:   "render --role ROLE --image REGISTRY/NAME@sha256:DIGEST -o DIR",
		Short: "write the MachineConfigs that bring nodekeeper onto nodes",
		Long:  renderHelp,
		Args:  noArguments,
	}
	c.SetFlagErrorFunc(plainly)
	flags := c.Flags()
	flags.StringVar(&o.Role, "role", "", "the MachineConfigPool: worker, master, or one of your own")
	flags.StringVar(&o.Image, "image", "", "nodekeeper's image, by digest")
	flags.StringSliceVar(&features, "features", []string{"restart", "logs"}, "which of restart, logs and proxy")
	flags.BoolVar(&dryRun, "dry-run", true, "have the feature restart only say what it would do")
	flags.StringVar(&settings, "settings", "", "a configuration file for the nodes, which says itself what restart and logs do")
	flags.StringVar(&step, "step", string(machineconfig.Install), "install, upgrade, inert or uninstall")
	flags.StringVarP(&dir, "output", "o", "", "the directory")
	c.RunE = cli.Does(func(c *cobra.Command, _ []string) error {
		if dir == "" {
			return cli.Usage(errors.New("which directory? -o DIR"))
		}
		o.Step, o.Act, o.DryRun = machineconfig.Step(step), !dryRun, dryRun && flags.Changed("dry-run")
		// Only what was said has to agree with settings.
		if settings == "" || flags.Changed("features") {
			o.Features = make([]machineconfig.Feature, 0, len(features))
			for _, f := range features {
				o.Features = append(o.Features, machineconfig.Feature(f))
			}
		}
		if settings != "" {
			text, err := statefile.Read(settings, maxSettings)
			if err != nil {
				return cli.Usage(fmt.Errorf("--settings: %w", err))
			}
			o.Settings, o.SettingsName = text, settings
		}
		files, err := machineconfig.Render(o)
		if err != nil {
			return cli.Usage(err)
		}
		if err := writeTree(dir, files); err != nil {
			return err
		}
		if o.Step == machineconfig.Install {
			// Where make shows it too.
			effect, err := o.Effect()
			if err != nil {
				return err
			}
			fmt.Fprintf(p.err, "on the nodes: %s\n", effect)
		}
		_, err = fmt.Fprintf(p.out, "%s: %d files; how to go on: %s\n", dir, len(files), filepath.Join(dir, "README.md"))
		return err
	})
	return c
}

// noArguments refuses what is no flag; most likely it is meant as a flag's value.
func noArguments(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("render takes no arguments, and %.80q is one; a switch has its value after =, as in --dry-run=false", args[0])
}

// plainly says of a switch that it is one, and not which function reads it.
func plainly(_ *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	if errors.As(err, &value) && value.GetFlag().Value.Type() == "bool" {
		return fmt.Errorf("--%s=%.80s: must be true or false", value.GetFlag().Name, value.GetValue())
	}
	return err
}

// writeTree fills an empty directory: what an earlier call left there would be
// applied to the cluster with the rest. So would a half of it, which is taken away
// again.
func writeTree(dir string, files []machineconfig.File) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return cli.Usage(fmt.Errorf("%s is no directory: name another", dir))
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case len(entries) > 0:
		return cli.Usage(fmt.Errorf("%s is not empty: name another directory, or remove it", dir))
	}
	for _, file := range files {
		if err := writeFile(dir, file); err != nil {
			return errors.Join(err, empty(dir))
		}
	}
	return nil
}

func writeFile(dir string, file machineconfig.File) error {
	path := filepath.Join(dir, filepath.FromSlash(file.Path))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, file.Content, 0o644)
}

// empty removes what is in a directory, which itself may be somebody's.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, e := range entries {
		errs = append(errs, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return errors.Join(errs...)
}
