package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// Crashes writes the records of one node. As JSON and YAML they are an index,
// the format of index.json.
func Crashes(w io.Writer, form cli.Form, x *record.Index, now time.Time) error {
	if written, err := form.Data(w, x); written || err != nil {
		return err
	}
	return crashTable(w, form, []*record.Index{x}, now, false)
}

// CrashesOfNodes writes the records of several nodes, with a column that tells
// which. As JSON and YAML they are a list of indexes.
func CrashesOfNodes(w io.Writer, form cli.Form, indexes []*record.Index, now time.Time) error {
	if indexes == nil {
		indexes = []*record.Index{}
	}
	if written, err := form.Data(w, indexes); written || err != nil {
		return err
	}
	return crashTable(w, form, indexes, now, true)
}

// row is one line of the table: a record, or an attempt that has none yet.
type row struct {
	node     string
	attempt  record.Attempt
	ended    *time.Time
	class    string
	exit     string
	ran      *time.Duration
	log      string
	id       string
	revision string
	held     string
	acts     string
	reason   string
}

func crashTable(w io.Writer, form cli.Form, indexes []*record.Index, now time.Time, nodes bool) error {
	records, live := rows(indexes, now)
	slices.SortStableFunc(records, func(a, b row) int { return a.ended.Compare(*b.ended) })
	all := append(records, live...)
	if len(all) == 0 {
		if _, err := fmt.Fprintln(w, "no crash records"); err != nil {
			return err
		}
		return footer(w, indexes)
	}
	columns := []cli.Column{cli.Rigid("AGE"), cli.PodColumn(8), cli.Elastic("CONTAINER", 8), cli.Leading("CLASS", 9),
		cli.Rigid("EXIT"), cli.Rigid("RAN"), cli.Rigid("LOG"), cli.Rigid("ID")}
	cells := row.short
	if form == cli.AsWide {
		columns = []cli.Column{cli.Rigid("FINISHED (UTC)"), cli.Rigid("NAMESPACE"), cli.Rigid("POD"), cli.Rigid("CONTAINER"),
			cli.Rigid("ATTEMPT"), cli.Rigid("CLASS"), cli.Rigid("EXIT"), cli.Rigid("RAN"), cli.Rigid("LOG"), cli.Rigid("ID"),
			cli.Rigid("REVISION"), cli.Rigid("HELD"), cli.Rigid("ACTS"), cli.Rigid("REASON")}
		cells = row.wide
	}
	if nodes {
		columns = append([]cli.Column{cli.Elastic("NODE", 8)}, columns...)
	}
	table := make([][]string, len(all))
	for i, r := range all {
		table[i] = cells(r, now)
		if nodes {
			table[i] = append([]string{host(form, r.node)}, table[i]...)
		}
	}
	if err := cli.WriteTable(w, form.Limit(), columns, table); err != nil {
		return err
	}
	return footer(w, indexes)
}

// host is a node's name without its domain where there is little room.
func host(form cli.Form, node string) string {
	if form != cli.AsWide {
		node, _, _ = strings.Cut(node, ".")
	}
	return cli.Dash(node)
}

func (r row) short(now time.Time) []string {
	age := "-"
	if r.ended != nil {
		age = cli.Age(now.Sub(*r.ended))
	}
	ran := "-"
	if r.ran != nil {
		ran = cli.Age(*r.ran)
	}
	return []string{age, short(r.attempt.Pod, r.node), r.attempt.Container, r.class, r.exit, ran, r.log, r.id}
}

func (r row) wide(time.Time) []string {
	finished := "-"
	if r.ended != nil {
		finished = r.ended.UTC().Format(time.DateTime)
	}
	ran := "-"
	if r.ran != nil {
		ran = cli.Span(int64(max(0, *r.ran) / time.Second))
	}
	return []string{finished, r.attempt.Namespace, r.attempt.Pod, r.attempt.Container, strconv.FormatUint(uint64(r.attempt.Attempt), 10),
		r.class, r.exit, ran, r.log, r.id, cli.Dash(r.revision), cli.Dash(r.held), cli.Dash(r.acts), cli.Dash(r.reason)}
}

func rows(indexes []*record.Index, now time.Time) (records, live []row) {
	for _, x := range indexes {
		for i := range x.Records {
			m := &x.Records[i].Meta
			end := ended(m)
			r := row{node: cmp.Or(x.Node, m.Node), attempt: m.Attempt, ended: &end, class: string(m.Class), exit: "-",
				log: logText(m.Segments, m.Gaps), id: m.ID, revision: m.Revision, acts: strings.Join(m.Acts, ","), reason: m.ClassReason}
			if m.ExitCode != nil {
				r.exit = strconv.Itoa(int(*m.ExitCode))
			}
			if m.Started != nil && m.Finished != nil {
				ran := m.Finished.Sub(*m.Started)
				r.ran = &ran
			}
			if m.Hold != nil {
				r.held = cmp.Or(m.Hold.Reason, "yes")
			}
			records = append(records, r)
		}
		for i := range x.Live {
			l := &x.Live[i]
			ran := now.Sub(l.Seen)
			live = append(live, row{node: x.Node, attempt: l.Attempt, class: "(live)", exit: "-",
				ran: &ran, log: logText(l.Segments, l.Gaps), id: "-", revision: l.Revision})
		}
	}
	return records, live
}

func logText(segments []record.Segment, gaps []record.Gap) string {
	var n int64
	for _, s := range segments {
		n += s.Bytes
	}
	text := cli.Bytes(n)
	if len(gaps) > 0 {
		text += " gap"
	}
	return text
}

// footer says what is not there.
func footer(w io.Writer, indexes []*record.Index) error {
	dropped := 0
	for _, x := range indexes {
		for _, n := range x.Dropped {
			dropped += n
		}
	}
	if dropped == 0 {
		return nil
	}
	are := "more records were"
	if dropped == 1 {
		are = "more record was"
	}
	_, err := fmt.Fprintf(w, "%d %s evicted or could not be made\n", dropped, are)
	return err
}
