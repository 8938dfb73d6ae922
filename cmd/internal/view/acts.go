package view

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// act is an act with its durations as people write them. The fields here hide
// those of the same JSON name in the embedded act.
type act struct {
	restartpolicy.Act
	// Node is empty on the node itself.
	Node     string       `json:"node,omitempty"`
	Target   target       `json:"target"`
	Timeout  cli.Duration `json:"timeout"`
	Began    instant      `json:"began"`
	Finished instant      `json:"finished"`
}

type target struct {
	restartpolicy.Target
	Grace cli.Duration `json:"grace,omitempty"`
}

type instant struct {
	Wall time.Time    `json:"wall"`
	Boot cli.Duration `json:"boot"`
}

func instantOf(i node.Instant) instant { return instant{i.Wall, cli.Duration(i.Boot)} }

// Acts writes acts, oldest first. As JSON and YAML they are a list of the
// journal's fields.
func Acts(w io.Writer, form cli.Form, acts []restartpolicy.Act) error {
	return actsOf(w, form, []NodeActs{{"", acts}}, false)
}

// NodeActs are the acts of one node among several.
type NodeActs struct {
	Node string
	Acts []restartpolicy.Act
}

// ActsOfNodes writes the acts of several nodes in the order of time, each with
// its node.
func ActsOfNodes(w io.Writer, form cli.Form, nodes []NodeActs) error {
	return actsOf(w, form, nodes, true)
}

func actsOf(w io.Writer, form cli.Form, nodes []NodeActs, several bool) error {
	data := []act{}
	for _, n := range nodes {
		for _, a := range n.Acts {
			data = append(data, act{a, n.Node, target{a.Target, cli.Duration(a.Target.Grace)}, cli.Duration(a.Timeout), instantOf(a.Began), instantOf(a.Finished)})
		}
	}
	if several {
		slices.SortStableFunc(data, func(a, b act) int { return a.Began.Wall.Compare(b.Began.Wall) })
	}
	if written, err := form.Data(w, data); written || err != nil {
		return err
	}
	if len(data) == 0 {
		_, err := fmt.Fprintln(w, "no acts")
		return err
	}
	layout := "01-02 15:04:05"
	columns := []cli.Column{cli.Rigid("ID"), cli.Rigid("WHEN (UTC)"), cli.Rigid("STEP"), cli.PodColumn(15), cli.Elastic("CONTAINER", 12),
		cli.Rigid("VERDICT"), cli.Rigid("RESULT")}
	if several {
		columns[3], columns[4] = cli.PodColumn(10), cli.Elastic("CONTAINER", 10)
		columns = append([]cli.Column{cli.Elastic("NODE", 9)}, columns...)
	}
	if form == cli.AsWide {
		layout = "2006-01-02 15:04:05"
		columns = append(columns, cli.Rigid("DETAIL"), cli.Rigid("REASON"), cli.Rigid("EVIDENCE"), cli.Rigid("RECORD"))
	}
	var rows [][]string
	for _, a := range data {
		pod, container := names(form, a.Key.Namespace, a.Key.Name, a.Key.Container)
		row := []string{a.ID, a.Began.Wall.UTC().Format(layout), string(a.Kind), pod, container,
			cli.Dash(string(a.State)), string(a.Result)}
		if several {
			if form != cli.AsWide {
				row[3] = strings.TrimSuffix(pod, "-"+strings.ToLower(a.Node))
			}
			row = append([]string{a.Node}, row...)
		}
		if form == cli.AsWide {
			row = append(row, cli.Dash(a.Detail), cli.Dash(a.Reason), cli.Dash(a.Evidence), cli.Dash(a.Record))
		}
		rows = append(rows, row)
	}
	return cli.WriteTable(w, form.Limit(), columns, rows)
}

// names are the columns POD and CONTAINER: what belongs to no pod belongs to
// the node. The namespace of a static pod says little that its name does not,
// so that only the wide form has it.
func names(form cli.Form, namespace, pod, container string) (string, string) {
	if pod == "" {
		return "(node)", cli.Dash(container)
	}
	if form == cli.AsWide {
		pod = namespace + "/" + pod
	}
	return pod, cli.Dash(container)
}
