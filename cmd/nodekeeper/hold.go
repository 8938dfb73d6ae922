package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/reader"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/store"
)

func (p *program) hold() *cobra.Command {
	var dir, reason string
	c := &cobra.Command{
		Use:   "hold ID",
		Short: "keep a crash record whatever its age and size, until it is released",
		Args:  oneRecord,
	}
	logDir(c, &dir)
	c.Flags().StringVar(&reason, "reason", "", "why, for whoever reads the list")
	c.RunE = cli.Does(func(c *cobra.Command, args []string) error {
		return p.change(c, dir, args[0], func(s *store.Store, a reader.Attempt) (string, error) {
			return fmt.Sprintf("held; to end it: nodekeeper release %s", a.Meta.ID), s.Hold(a.Path, reason)
		})
	})
	return c
}

func (p *program) release() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "release ID",
		Short: "end a hold: the record may be evicted like any other",
		Args:  oneRecord,
	}
	logDir(c, &dir)
	c.RunE = cli.Does(func(c *cobra.Command, args []string) error {
		return p.change(c, dir, args[0], func(s *store.Store, a reader.Attempt) (string, error) {
			if a.Meta.Hold == nil {
				return "there was no hold", nil
			}
			return "released", s.Release(a.Path)
		})
	})
	return c
}

func oneRecord(_ *cobra.Command, args []string) error {
	switch {
	case len(args) == 0 || args[0] == "":
		return errors.New("which record? nodekeeper crashes lists their IDs")
	case len(args) > 1:
		return fmt.Errorf("one record at a time: %q is one too many", args[1])
	}
	return nil
}

// change finds a record by its ID, changes it, and prints what became of it.
func (p *program) change(c *cobra.Command, dir, id string, change func(*store.Store, reader.Attempt) (string, error)) error {
	root, err := p.recordRoot(c, dir)
	if err != nil {
		return err
	}
	found, err := recordOf(c.Context(), root, id)
	if err != nil {
		return err
	}
	s, err := store.OpenForUpdate(root)
	if err != nil {
		return asRoot(err)
	}
	said, err := change(s, found)
	if err := errors.Join(err, s.Close()); err != nil {
		return asRoot(err)
	}
	_, err = fmt.Fprintf(p.out, "%s %s/%s/%s: %s\n", found.Meta.ID, found.Namespace, found.Pod, found.Container, said)
	return err
}

func recordOf(ctx context.Context, root, id string) (reader.Attempt, error) {
	files, index, err := openRecords(ctx, root)
	if err != nil {
		return reader.Attempt{}, err
	}
	found, err := reader.Select(index, reader.Query{Crash: id})
	if err := errors.Join(err, files.Close()); err != nil {
		return reader.Attempt{}, err
	}
	return found[0], nil
}
