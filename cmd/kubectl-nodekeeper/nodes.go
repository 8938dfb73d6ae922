package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/reader"
)

const (
	// parallel is how many nodes are asked at once: each answer passes through
	// one API server.
	parallel = 8
	// patience is how long a node may take for small files. The API server
	// gives up on a node that is gone only after a minute or more.
	patience = 20 * time.Second
)

// choice is which nodes a command asks.
type choice struct {
	all      bool
	selector string
}

func (n *choice) add(c *cobra.Command) {
	c.Flags().BoolVar(&n.all, "all-nodes", false, "ask all nodes")
	c.Flags().StringVarP(&n.selector, "selector", "l", "", "ask the nodes with these labels, as node-role.kubernetes.io/master")
}

// check is about bad usage.
func (n *choice) check(named []string) error {
	switch {
	case len(named) > 0 && (n.all || n.selector != ""):
		return cli.Usage(errors.New("choose between names of nodes and --all-nodes or -l"))
	case len(named) == 0 && !n.all && n.selector == "":
		return cli.Usage(errors.New("which node? Name some, or say --all-nodes or -l SELECTOR"))
	}
	for _, node := range named {
		if !isNodeName(node) {
			return cli.Usage(fmt.Errorf("%q is no name of a node", node))
		}
	}
	return nil
}

// isNodeName keeps names from leading elsewhere in the API.
func isNodeName(name string) bool {
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.' && r != '-' {
			return false
		}
	}
	return name != "" && name[0] != '.'
}

// several tells whether a column has to tell nodes apart.
func (n *choice) several(named []string) bool { return len(named) != 1 }

// names are the chosen nodes in order.
func (n *choice) names(ctx context.Context, c *cluster, named []string) ([]string, error) {
	if len(named) > 0 {
		return slices.Compact(slices.Sorted(slices.Values(named))), nil
	}
	query := url.Values{"limit": {"500"}}
	if n.selector != "" {
		query.Set("labelSelector", n.selector)
	}
	var names []string
	for {
		var list metav1.PartialObjectMetadataList
		if err := c.decode(ctx, "/api/v1/nodes", query, &list); err != nil {
			return nil, fmt.Errorf("list the nodes: %w", err)
		}
		for _, node := range list.Items {
			names = append(names, node.Name)
		}
		if list.Continue == "" {
			break
		}
		query.Set("continue", list.Continue)
	}
	if len(names) == 0 {
		return nil, errors.New("no node has these labels")
	}
	slices.Sort(names)
	return names, nil
}

// answer is what came of asking one node.
type answer[T any] struct {
	node  string
	value T
	err   error
}

// ask asks nodes, several at a time, and returns their answers in order. One
// that fails is reported at the end, in one line, and does not keep the others
// from being shown.
func ask[T any](ctx context.Context, p *plugin, nodes []string, one func(ctx context.Context, node string) (T, error)) []answer[T] {
	answers := make([]answer[T], len(nodes))
	progress := p.progress(len(nodes))
	defer progress.end()
	var group errgroup.Group
	group.SetLimit(parallel)
	for i, node := range nodes {
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			value, err := one(ctx, node)
			if errors.Is(err, context.DeadlineExceeded) {
				err = fmt.Errorf("no answer within %s", patience)
			}
			answers[i] = answer[T]{node, value, err}
			progress.step()
			return nil
		})
	}
	_ = group.Wait() // what went wrong stands in the answers
	return answers
}

// sorted parts answers from failures, and makes one error of those, a line
// each, with the highest of their exit codes.
func sorted[T any](answers []answer[T]) (good []answer[T], err error) {
	var failures []error
	for _, a := range answers {
		if a.err == nil {
			good = append(good, a)
		} else {
			failures = append(failures, fmt.Errorf("node %s: %w", a.node, a.err))
		}
	}
	return good, cli.Worst(failures...)
}

// absent says what it means that a file is not there.
func absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, reader.ErrNoRecords) {
		return errors.New("nodekeeper keeps nothing there: it does not run, or logs.enabled is false, or see --log-dir")
	}
	return err
}

// progress is a line on a terminal that says how far it is.
type progress struct {
	mu    sync.Mutex // guards done
	say   func(format string, args ...any)
	done  int
	total int
}

func (p *plugin) progress(total int) *progress {
	g := &progress{total: total, say: func(string, ...any) {}}
	if total > 1 && cli.Terminal(p.err) {
		g.say = func(format string, args ...any) { fmt.Fprintf(p.err, format, args...) }
	}
	g.say("\rasked 0 of %d nodes", total)
	return g
}

func (g *progress) step() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.done++
	g.say("\rasked %d of %d nodes", g.done, g.total)
}

func (g *progress) end() { g.say("\r\033[K") }
