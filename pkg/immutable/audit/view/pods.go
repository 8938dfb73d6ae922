package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/audit/expect"
)

func (p *page) pods(pods *Pods) {
	p.section("OBJECTS THAT PODS REFER TO")
	columns := []cli.Column{
		cli.Elastic("NODE", 8), cli.Leading("KUBELET", 7), cli.Rigid("STRATEGY"), cli.Rigid("PODS"), cli.Rigid("OBJECTS"),
		cli.Rigid("IMMUTABLE"), cli.Rigid("MUTABLE"), cli.Rigid("ENV"), cli.Rigid("MISSING"), cli.Rigid("COULD"),
	}
	if p.form == cli.AsWide {
		columns = append(columns, cli.Rigid("PATH"), cli.Rigid("UNKNOWN"), cli.Rigid("CA-BUNDLES"), cli.Rigid("READS"), cli.Rigid("READS-ONCE"))
	}
	row := func(n expect.Node) []string {
		c := n.Counts
		cells := append([]string{n.Name, cli.Dash(n.Version), cli.Dash(string(n.Strategy))},
			numbers(c.Pods, c.Objects, c.Immutable, c.Mutable, c.EnvOnly, c.Missing, c.Promotable+c.PromotableEnv)...)
		if p.form == cli.AsWide {
			cells = append(append(cells, cli.Dash(string(n.Path()))), numbers(c.Unknown, c.Members, c.Reads, c.Once)...)
		}
		return cells
	}
	var rows [][]string
	for _, n := range pods.Nodes {
		rows = append(rows, row(n))
	}
	if len(pods.Nodes) > 1 {
		rows = append(rows, row(expect.Node{Name: "all", Counts: pods.Total}))
	}
	p.table(columns, rows)
	for _, note := range pods.Notes {
		p.tell(note)
	}
	if u := pods.Total.Unknown; u > 0 {
		p.tell(fmt.Sprintf("%d objects could not be looked at, and count as such that can change.", u))
	}
	if refused := reasons(pods.Total.Refused); refused != "" {
		p.tell("COULD be immutable, once seen unchanged for long enough. Against the others: " + refused + ".")
	}

	p.section("REQUESTS, BY REMEDY")
	rows = nil
	for _, l := range pods.Loads {
		saved := pods.Loads[0].StartWatches - l.StartWatches
		cells := append([]string{string(l.Remedy)}, numbers(l.StartWatches, saved, l.StartLists, l.StartGets, l.StartReads, l.Open)...)
		rows = append(rows, append(cells, fmt.Sprintf("%.1f", l.Steady*60), fmt.Sprintf("%.1f", l.SteadyReads*60)))
	}
	p.table([]cli.Column{
		cli.Rigid("REMEDY"), cli.Rigid("START-WATCH"), cli.Rigid("SAVED"), cli.Rigid("LIST"), cli.Rigid("GET"),
		cli.Rigid("ETCD"), cli.Rigid("OPEN-WATCH"), cli.Rigid("PER-MIN"), cli.Rigid("ETCD/MIN"),
	}, rows)
	p.tell("All but OPEN-WATCH and the rates are for a start of the nodes or their kubelets, GET and ETCD at most; with the guard, a restart of the kubelet alone opens no WATCH. " +
		"Immutable alone saves none at a start: a kubelet opens a WATCH first and looks at the flag then.")
	answer := "does not pay"
	if pods.Pays {
		answer = "pays"
	}
	p.tell("The guard " + answer + " on these nodes: " + pods.Why + ".")
	if pods.Remedy != "" {
		p.tell("First: " + pods.Remedy + ".")
	}
}

func numbers(n ...int) []string {
	var cells []string
	for _, n := range n {
		cells = append(cells, fmt.Sprint(n))
	}
	return cells
}

// reasons are rules with their numbers, the most frequent first.
func reasons(refused map[string]int) string {
	names := slices.SortedFunc(maps.Keys(refused), func(a, b string) int {
		if refused[a] != refused[b] {
			return refused[b] - refused[a]
		}
		return strings.Compare(a, b)
	})
	var said []string
	for _, name := range names {
		said = append(said, fmt.Sprintf("%d %s", refused[name], name))
	}
	return strings.Join(said, ", ")
}
