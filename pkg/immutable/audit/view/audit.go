package view

import (
	"fmt"
	"io"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/audit/apilog"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/audit/expect"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/audit/journal"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/audit/mounts"
)

// Audit is what was found. What was not looked for is nil.
type Audit struct {
	Pods    *Pods           `json:"pods,omitempty"`
	Log     *apilog.Report  `json:"auditLog,omitempty"`
	Journal *journal.Report `json:"journal,omitempty"`
	Mounts  *Mounts         `json:"mounts,omitempty"`
}

// Pods is what the pods of nodes make their kubelets ask.
type Pods struct {
	expect.Verdict
	Nodes []expect.Node `json:"nodes"`
	// Total is of all nodes, Loads what all of them ask under each remedy.
	Total expect.Counts `json:"total"`
	Loads []expect.Load `json:"loads"`
	// Notes say what could not be looked at, a line each.
	Notes []string `json:"notes,omitempty"`
}

// PodsOf adds up nodes.
func PodsOf(nodes []expect.Node, notes []string) *Pods {
	p := &Pods{Verdict: expect.JudgeNodes(nodes), Nodes: nodes, Notes: notes}
	for _, n := range nodes {
		p.Total.Add(n.Counts)
	}
	for _, r := range expect.Remedies {
		sum := expect.Load{Remedy: r}
		for _, n := range nodes {
			sum.Add(n.Under(r, n.Kubelet))
		}
		p.Loads = append(p.Loads, sum)
	}
	return p
}

// Mounts are what is mounted on a node beside the live objects.
type Mounts struct {
	Node string `json:"node"`
	// Counts are by verdict.
	Counts map[mounts.Verdict]int `json:"counts"`
	All    []mounts.Mount         `json:"mounts"`
	// Unseen says what no comparison of this kind can see.
	Unseen string `json:"notSeen"`
}

// blind is what a comparison of mounts cannot see.
const blind = "environment variables, pull secrets, subPath mounts, the kubelet's own cache"

// MountsOf counts them.
func MountsOf(node string, all []mounts.Mount) *Mounts {
	m := &Mounts{Node: node, Counts: map[mounts.Verdict]int{}, All: all, Unseen: blind}
	for _, mount := range all {
		m.Counts[mount.Verdict]++
	}
	return m
}

// Write writes an audit as data or as tables.
func Write(w io.Writer, form cli.Form, a Audit) error {
	written, err := form.Data(w, a)
	if err != nil || written {
		return err
	}
	p := &page{w: w, form: form}
	if a.Pods != nil {
		p.pods(a.Pods)
	}
	if a.Log != nil {
		p.log(a.Log)
	}
	if a.Journal != nil {
		p.journal(a.Journal)
	}
	p.beside(a)
	if a.Mounts != nil {
		p.mounts(a.Mounts)
	}
	return p.err
}

// page is written from top to bottom and keeps the first error.
type page struct {
	w     io.Writer
	form  cli.Form
	begun bool
	err   error
}

// section begins with an empty line but at the top.
func (p *page) section(title string) {
	if p.begun {
		p.say("")
	}
	p.begun = true
	p.say("%s", title)
}

func (p *page) say(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintln(p.w, cli.Printable(fmt.Sprintf(format, args...)))
	}
}

// tell writes a sentence that may be longer than a line.
func (p *page) tell(text string) {
	for _, line := range wrap(text, p.form.Limit()) {
		p.say("%s", line)
	}
}

func (p *page) table(columns []cli.Column, rows [][]string) {
	if p.err == nil && len(rows) > 0 {
		p.err = cli.WriteTable(p.w, p.form.Limit(), columns, rows)
	}
}
