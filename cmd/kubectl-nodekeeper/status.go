package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/nodekeeper/nodekeeper/cmd/internal/view"
	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/journal"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// maxFile is how much is read of the agent's copies of its files, which are in
// the record root.
const maxFile = 16 << 20

func (p *plugin) status() *cobra.Command {
	var form cli.Form
	var nodes choice
	c := &cobra.Command{
		Use:   "status NODE... | --all-nodes | -l SELECTOR",
		Short: "show what the agents of nodes see, what is wrong, and what they wait for",
		Long: `Show what the agents of nodes see, what is wrong, and what they wait for. Of
several nodes only what is not well is shown, and all with -o wide.

Exit codes: 0 all is well or still within its deadline; 3 something is down or
wrong beyond its deadline; 4 an agent does not run, or has not looked for too
long; 1 and 2 as for all commands. Of several nodes, the highest.`,
		Args: cobra.ArbitraryArgs,
	}
	form.Add(c.Flags())
	nodes.add(c)
	c.RunE = cli.Does(func(c *cobra.Command, args []string) error {
		if err := nodes.check(args); err != nil {
			return err
		}
		answers, err := gather(c.Context(), p, &nodes, args, p.readStatus)
		if len(answers) == 0 && err != nil {
			return err
		}
		if !nodes.several(args) {
			return view.Status(p.out, form, answers[0].value.Status, answers[0].value.Clock)
		}
		var all []view.NodeStatus
		for _, a := range answers {
			all = append(all, a.value)
		}
		return cli.Worst(err, view.StatusOfNodes(p.out, form, all))
	})
	return c
}

func (p *plugin) readStatus(ctx context.Context, files *nodeFiles) (view.NodeStatus, error) {
	data, now, written, err := files.small(ctx, status.Name, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return view.NodeStatus{}, cli.Exit{Code: view.ExitNoAgent, Err: absent(err)}
	}
	if err != nil {
		return view.NodeStatus{}, err
	}
	s, err := status.Decode(data)
	if err != nil {
		return view.NodeStatus{}, fmt.Errorf("%s %w", status.Name, err)
	}
	if now.IsZero() {
		now = p.now()
	}
	if written.IsZero() {
		written = s.Agent.Taken.Wall
	}
	return view.NodeStatus{Node: files.node, Status: s, Clock: view.ClockFrom(s, written, now)}, nil
}

func (p *plugin) acts() *cobra.Command {
	var form cli.Form
	var nodes choice
	c := &cobra.Command{
		Use:   "acts NODE... | --all-nodes | -l SELECTOR",
		Short: "list what the agents of nodes have done, and what came of it, oldest first",
		Args:  cobra.ArbitraryArgs,
	}
	form.Add(c.Flags())
	nodes.add(c)
	c.RunE = cli.Does(func(c *cobra.Command, args []string) error {
		if err := nodes.check(args); err != nil {
			return err
		}
		answers, err := gather(c.Context(), p, &nodes, args, readActs)
		if len(answers) == 0 && err != nil {
			return err
		}
		if !nodes.several(args) {
			return cli.Worst(answers[0].value.torn, view.Acts(p.out, form, answers[0].value.acts))
		}
		var all []view.NodeActs
		for _, a := range answers {
			all = append(all, view.NodeActs{Node: a.node, Acts: a.value.acts})
			if a.value.torn != nil {
				err = cli.Worst(err, fmt.Errorf("node %s: %w", a.node, a.value.torn))
			}
		}
		return cli.Worst(err, view.ActsOfNodes(p.out, form, all))
	})
	return c
}

// acts are what could be read of a journal, and what could not.
type acts struct {
	acts []restartpolicy.Act
	torn error
}

func readActs(ctx context.Context, files *nodeFiles) (acts, error) {
	data, _, _, err := files.small(ctx, journal.Name, maxFile)
	if err != nil {
		return acts{}, absent(err)
	}
	read, torn := journal.Decode(data)
	if torn != nil {
		torn = fmt.Errorf("%s: %w", journal.Name, torn)
	}
	return acts{read, torn}, nil
}
