package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/audit/mounts"
)

func (p *page) mounts(m *Mounts) {
	p.section("MOUNTED AND LIVE OBJECTS OF " + m.Node)
	var said []string
	for _, v := range mounts.Verdicts {
		if n := m.Counts[v]; n > 0 {
			said = append(said, fmt.Sprintf("%d %s", n, v))
		}
	}
	if len(said) == 0 {
		said = append(said, "nothing is mounted")
	}
	p.tell(strings.Join(said, ", ") + ". Not seen: " + m.Unseen + ".")
	shown := slices.Clone(m.All)
	slices.SortStableFunc(shown, func(a, b mounts.Mount) int {
		return slices.Index(mounts.Verdicts[:], a.Verdict) - slices.Index(mounts.Verdicts[:], b.Verdict)
	})
	var rows [][]string
	stale := false
	for _, one := range shown {
		if one.Verdict == mounts.Same && p.form != cli.AsWide {
			continue
		}
		stale = stale || one.Immutable && (one.Verdict == mounts.Recreated || one.Verdict == mounts.Predecessor)
		row := []string{string(one.Verdict), one.Pod, one.Volume, strings.TrimSuffix(string(one.Resource), "s") + "/" + one.Name, cli.Dash(one.Why)}
		if p.form == cli.AsWide {
			row = append(row, cli.Dash(one.LiveUID), moment(one.Created), moment(one.Written))
		}
		rows = append(rows, row)
	}
	columns := []cli.Column{cli.Rigid("VERDICT"), cli.PodColumn(12), cli.Elastic("VOLUME", 8), cli.Elastic("OBJECT", 14), cli.Leading("WHY", 16)}
	if p.form == cli.AsWide {
		columns = append(columns, cli.Rigid("LIVE-UID"), cli.Rigid("CREATED"), cli.Rigid("WRITTEN"))
	}
	p.table(columns, rows)
	if stale {
		p.tell("An immutable object that is deleted and made anew under its name is not read again while a pod of the node refers to it (kubernetes#119733): " +
			"end all of these pods, or use a new name.")
	}
}

func moment(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}
