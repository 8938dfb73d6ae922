package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/reader"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/view"
)

func (p *program) crashes() *cobra.Command {
	var form cli.Form
	var filter view.Filter
	var dir string
	c := &cobra.Command{
		Use:   "crashes [POD | NAMESPACE/POD]",
		Short: "list the attempts of containers that have ended, newest last",
		Long: `List the attempts of containers that have ended, newest last: how, and how much
of their log is kept. The log of one: nodekeeper logs --crash ID.

CLASS is one of
` + view.ClassList() + `.`,
		Args: cobra.MaximumNArgs(1),
	}
	form.Add(c.Flags())
	filter.Add(c.Flags())
	logDir(c, &dir)
	c.RunE = cli.Does(func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			if err := filter.Name(args[0]); err != nil {
				return cli.Usage(err)
			}
		}
		root, err := p.recordRoot(c, dir)
		if err != nil {
			return err
		}
		files, index, err := openRecords(c.Context(), root)
		if err != nil {
			return err
		}
		defer files.Close()
		if err := filter.Known(index); err != nil {
			return err
		}
		now := p.clock.Now().Wall
		return view.Crashes(p.out, form, filter.Of(index, now), now)
	})
	return c
}

// logDir adds the flag that names another record root than the configuration's.
func logDir(c *cobra.Command, dir *string) {
	c.Flags().StringVar(dir, "log-dir", "", "directory of the crash records (default: directories.log)")
}

func (p *program) recordRoot(c *cobra.Command, chosen string) (string, error) {
	if chosen != "" {
		return chosen, nil
	}
	cfg, err := p.load(c, silently)
	return cfg.Directories.Log, err
}

// openRecords opens a record root. The caller closes it.
func openRecords(ctx context.Context, root string) (*reader.Dir, *record.Index, error) {
	files, err := reader.Local(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%s: %w", root, reader.ErrNoRecords)
	}
	if err != nil {
		return nil, nil, asRoot(err)
	}
	index, err := reader.Load(ctx, files)
	if err != nil {
		return nil, nil, errors.Join(asRoot(fmt.Errorf("%s: %w", root, err)), files.Close())
	}
	return files, index, nil
}
