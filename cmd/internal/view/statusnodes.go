package view

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
)

// NodeStatus is the status of one node among several.
type NodeStatus struct {
	Node   string
	Status status.Status
	Clock  Clock
}

// StatusOfNodes writes the statuses of several nodes: what keeps their agents
// from seeing or acting, and a table with a column that tells nodes apart. It
// leaves out what is well, except in the wide form. As JSON and YAML they are a
// list. The error carries the highest exit code, and a line for each node of
// which there is more to say.
func StatusOfNodes(w io.Writer, form cli.Form, nodes []NodeStatus) error {
	data := make([]published, len(nodes))
	for i, n := range nodes {
		data[i] = publishedOf(n.Status)
	}
	written, err := form.Data(w, data)
	if err == nil && !written {
		err = nodesTable(w, form, nodes)
	}
	if err != nil {
		return err
	}
	var verdicts []error
	for _, n := range nodes {
		verdict := Verdict(n.Status, n.Clock)
		var e cli.Exit
		if errors.As(verdict, &e) && e.Err != nil {
			e.Err = fmt.Errorf("node %s: %w", n.Node, e.Err)
			verdict = e
		}
		verdicts = append(verdicts, verdict)
	}
	return cli.Worst(verdicts...)
}

// nodeVerdict is one line of the table.
type nodeVerdict struct {
	node    string
	verdict status.Verdict
}

func nodesTable(w io.Writer, form cli.Form, nodes []NodeStatus) error {
	columns := []cli.Column{cli.Elastic("NODE", 12), cli.PodColumn(12), cli.Elastic("CONTAINER", 12), cli.Rigid("VERDICT"), cli.Rigid("FOR"),
		cli.Rigid("NEXT"), cli.Elastic("BLOCKED-BY", 10), cli.Elastic("LAST STEP", 10)}
	if form == cli.AsWide {
		columns = append(columns, cli.Rigid("DETAIL"), cli.Rigid("STEPS"))
	}
	var said []string
	var all []nodeVerdict
	for _, n := range nodes {
		for _, note := range notes(n.Status) {
			said = append(said, n.Node+": "+strings.Join(strings.Fields(note), " "))
		}
		all = append(all, worthShowing(form, n)...)
	}
	if err := sentences(w, form, said); err != nil {
		return err
	}
	if len(said) > 0 {
		fmt.Fprintln(w)
	}
	slices.SortStableFunc(all, func(a, b nodeVerdict) int { return rank(a.verdict) - rank(b.verdict) })
	var rows [][]string
	for _, v := range all {
		row := verdictRow(form, v.verdict)
		if form != cli.AsWide {
			row[0] = strings.TrimSuffix(row[0], "-"+strings.ToLower(v.node))
		}
		rows = append(rows, append([]string{v.node}, row...))
	}
	return cli.WriteTable(w, form.Limit(), columns, rows)
}

// worthShowing are the verdicts of a node that somebody who looks at many nodes
// wants to see; one line that stands for all if there are none.
func worthShowing(form cli.Form, n NodeStatus) []nodeVerdict {
	var out []nodeVerdict
	for _, v := range n.Status.Verdicts {
		if form == cli.AsWide || v.Overdue || v.Trouble() {
			out = append(out, nodeVerdict{n.Node, v})
		}
	}
	if len(out) == 0 {
		looked := int64((n.Clock.Now.Boot - n.Status.Agent.Taken.Boot) / time.Second)
		out = []nodeVerdict{{n.Node, status.Verdict{Pod: fmt.Sprintf("(all %d)", len(n.Status.Verdicts)), State: "well", ForSeconds: looked}}}
	}
	return out
}
