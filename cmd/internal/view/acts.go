package view

import (
	"fmt"
	"io"
	"time"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// act is an act with its durations as people write them. The fields here hide
// those of the same JSON name in the embedded act.
type act struct {
	restartpolicy.Act
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
	data := make([]act, len(acts))
	for i, a := range acts {
		data[i] = act{a, target{a.Target, cli.Duration(a.Target.Grace)}, cli.Duration(a.Timeout), instantOf(a.Began), instantOf(a.Finished)}
	}
	if written, err := form.Data(w, data); written || err != nil {
		return err
	}
	if len(acts) == 0 {
		_, err := fmt.Fprintln(w, "no acts")
		return err
	}
	layout := "01-02 15:04:05"
	columns := []cli.Column{cli.Rigid("ID"), cli.Rigid("WHEN (UTC)"), cli.Rigid("STEP"), cli.PodColumn(15), cli.Elastic("CONTAINER", 12),
		cli.Rigid("VERDICT"), cli.Rigid("RESULT")}
	if form == cli.AsWide {
		layout = "2006-01-02 15:04:05"
		columns = append(columns, cli.Rigid("DETAIL"), cli.Rigid("REASON"), cli.Rigid("EVIDENCE"), cli.Rigid("RECORD"))
	}
	var rows [][]string
	for _, a := range acts {
		pod, container := names(form, a.Key.Namespace, a.Key.Name, a.Key.Container)
		row := []string{a.ID, a.Began.Wall.UTC().Format(layout), string(a.Kind), pod, container,
			cli.Dash(string(a.State)), string(a.Result)}
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
