package view

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// The exit codes of a status, besides those of every command.
const (
	ExitOverdue = 3
	ExitNoAgent = 4
)

// Clock is the node's at the moment of looking.
type Clock struct {
	Now    node.Instant
	BootID string
}

// ClockFrom is the clock of a node that is looked at from elsewhere: what is
// known is when, on its wall clock, the status was written and read.
func ClockFrom(s status.Status, written, read time.Time) Clock {
	age := max(0, read.Sub(written))
	return Clock{node.Instant{Wall: read, Boot: s.Agent.Taken.Boot + age}, s.Agent.BootID}
}

// Status writes a status, as data or as a header and one line for each verdict,
// worst first. The error carries the exit code that the state of the node calls
// for.
func Status(w io.Writer, form cli.Form, s status.Status, clock Clock) error {
	written, err := form.Data(w, publishedOf(s))
	if err == nil && !written {
		err = statusTable(w, form, s, clock.Now)
	}
	if err != nil {
		return err
	}
	return Verdict(s, clock)
}

// published is a status with its durations as people write them.
type published struct {
	status.Status
	Agent agent `json:"agent"`
}

type agent struct {
	status.Agent
	Taken instant `json:"taken"`
}

func publishedOf(s status.Status) published {
	return published{s, agent{s.Agent, instantOf(s.Agent.Taken)}}
}

// Verdict is the error that a status amounts to, nil if all is well. Its exit
// code is ExitOverdue or ExitNoAgent.
func Verdict(s status.Status, clock Clock) error {
	switch {
	case s.Agent.BootID != clock.BootID:
		return cli.Exit{Code: ExitNoAgent, Err: errors.New("the agent has not run since the node was booted: systemctl status nodekeeper")}
	case s.Stale(clock.BootID, clock.Now):
		return cli.Exit{Code: ExitNoAgent, Err: fmt.Errorf("the agent has not looked for %s: systemctl status nodekeeper",
			cli.Span(int64((clock.Now.Boot-s.Agent.Taken.Boot)/time.Second)))}
	case s.Overdue() > 0 || s.Node.Manifests.Error != "":
		// Without the manifests nothing is guarded, whatever the rows say.
		return cli.Exit{Code: ExitOverdue}
	}
	return nil
}

func statusTable(w io.Writer, form cli.Form, s status.Status, now node.Instant) error {
	limit := form.Limit()
	columns := []cli.Column{cli.PodColumn(22), cli.Elastic("CONTAINER", 16), cli.Rigid("VERDICT"), cli.Rigid("FOR"), cli.Rigid("NEXT"),
		cli.Elastic("BLOCKED-BY", 10), cli.Elastic("LAST STEP", 12)}
	if form == cli.AsWide {
		columns = append(columns, cli.Rigid("DETAIL"), cli.Rigid("STEPS"))
	}
	if err := sentences(w, form, append(header(s, now), notes(s)...)); err != nil {
		return err
	}
	fmt.Fprintln(w)
	verdicts := slices.Clone(s.Verdicts)
	slices.SortStableFunc(verdicts, func(a, b status.Verdict) int { return rank(a) - rank(b) })
	var rows [][]string
	for _, v := range verdicts {
		rows = append(rows, verdictRow(form, v))
	}
	if err := cli.WriteTable(w, limit, columns, rows); err != nil {
		return err
	}
	return sentences(w, form, missing(form, verdicts))
}

// missing says for each row that is not well which proof is missing before its
// next step, and in the wide form also what inhibits it.
func missing(form cli.Form, verdicts []status.Verdict) []string {
	var lines []string
	for _, v := range verdicts {
		why := slices.Clone(v.Missing)
		if form == cli.AsWide {
			why = append(why, v.Inhibitors...)
		}
		if !v.Trouble() || len(why) == 0 || len(v.Steps) == 0 {
			continue
		}
		pod, container := names(form, v.Namespace, v.Pod, v.Container)
		if len(lines) == 0 {
			lines = append(lines, "", "Missing before a step:")
		}
		lines = append(lines, fmt.Sprintf("  %s %s, %s: %s", pod, container, v.Steps[0], strings.Join(why, "; ")))
	}
	return lines
}

// identityLine says who the kubelet is, and how that is known.
func identityLine(n status.Node) string {
	text := cli.Dash(n.Name)
	id := n.Identity
	if id.NodeNameFrom != "" {
		text += ", by " + id.NodeNameFrom
	}
	if id.Version != "" {
		text += ", kubelet " + id.Version
	}
	if id.PID > 0 {
		text += fmt.Sprintf(", process %d", id.PID)
	}
	if id.Unit != "" {
		text += " of " + id.Unit
	}
	return text
}

func sentences(w io.Writer, form cli.Form, lines []string) error {
	for _, line := range lines {
		line = cli.Printable(line)
		if limit := form.Limit(); limit > 0 {
			line = cli.Start(line, limit)
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

func verdictRow(form cli.Form, v status.Verdict) []string {
	pod, container := names(form, v.Namespace, v.Pod, v.Container)
	row := []string{pod, container, string(v.State), cli.Span(v.ForSeconds), next(v), blockedBy(form, v), lastStep(v)}
	if form == cli.AsWide {
		row = append(row, cli.Dash(v.Detail), cli.Dash(joined(v.Steps)))
	}
	return row
}

func rank(v status.Verdict) int {
	switch {
	case v.Overdue:
		return 0
	case v.Trouble():
		return 1
	}
	return 2
}

func next(v status.Verdict) string {
	switch {
	case v.Next == nil:
		return "-"
	case *v.Next == 0:
		return "due"
	}
	return cli.Span(*v.Next)
}

// blockedBy names all inhibitors in the wide form, and the first in the other;
// a proof that is missing is one more.
func blockedBy(form cli.Form, v status.Verdict) string {
	if len(v.Missing) > 0 {
		v.BlockedBy = append([]string{"unproved"}, v.BlockedBy...)
	}
	if n := len(v.BlockedBy); n > 1 && form != cli.AsWide {
		return fmt.Sprintf("%s +%d", v.BlockedBy[0], n-1)
	}
	return cli.Dash(strings.Join(v.BlockedBy, ","))
}

// lastStep is the step, its result, and how long ago it began.
func lastStep(v status.Verdict) string {
	if v.Last == nil {
		return "-"
	}
	return fmt.Sprintf("%s %s %s", v.Last.Step, v.Last.Result, cli.Span(v.Last.AgoSeconds))
}

func joined(steps []restartpolicy.StepKind) string {
	var names []string
	for _, s := range steps {
		names = append(names, string(s))
	}
	return strings.Join(names, ",")
}

// header says who looks and what can be seen, one line each.
func header(s status.Status, now node.Instant) []string {
	n := s.Node
	lines := []string{
		"node       " + identityLine(n),
		fmt.Sprintf("agent      %s, pid %d, looked %s ago, every %s", s.Agent.Version, s.Agent.PID,
			cli.Span(max(0, int64((now.Boot-s.Agent.Taken.Boot)/time.Second))), time.Duration(s.Agent.IntervalSeconds*float64(time.Second))),
		"runtime    " + runtimeLine(n.Runtime),
		"kubelet    " + kubeletLine(n.Kubelet),
		fmt.Sprintf("manifests  %d in %s", n.Manifests.Pods, cli.Dash(n.Manifests.Dir)),
	}
	if s.Records != nil {
		lines = append(lines, "records    "+recordsLine(*s.Records))
	}
	return lines
}

// notes say what cannot be seen, and what keeps the agent from acting.
func notes(s status.Status) []string {
	n := s.Node
	var lines []string
	add := func(title, text string) {
		if text != "" {
			lines = append(lines, title+text)
		}
	}
	add("  CANNOT SEE the runtime: ", n.Runtime.Error)
	add("  CANNOT SEE the runtime's unit: ", n.Runtime.Unit.Error)
	add("  kubelet not healthy: ", n.Kubelet.HealthError)
	add("  kubelet's view: ", n.Kubelet.Error)
	add("  CANNOT SEE the kubelet's unit: ", n.Kubelet.Unit.Error)
	add("  CANNOT SEE the manifests: ", n.Manifests.Error)
	for _, p := range n.Manifests.Problems {
		add("  manifest "+p.Kind+": ", p.Message)
	}
	add("  ", n.SettingsError)
	for _, line := range n.NotKnown {
		add("  NOT KNOWN  ", line)
	}
	for _, line := range n.InProgress {
		add("  in progress: ", line)
	}
	if s.Records != nil {
		add("  CANNOT KEEP crash records: ", s.Records.Error)
	}
	if s.Agent.DryRun {
		lines = append(lines, "NO ACTS    dry run")
	}
	add("NO ACTS    paused ", n.Paused)
	add("NO ACTS    ", s.Agent.Withheld)
	add("NO ACTS    busy: ", strings.Join(n.Busy, ", "))
	if n.ShuttingDown {
		lines = append(lines, "NO ACTS    the node is shutting down")
	}
	if a := s.Agent.Acting; a != nil {
		pod, container := names(cli.AsWide, a.Namespace, a.Pod, a.Container)
		lines = append(lines, fmt.Sprintf("ACTING     %s for %s %s, %s at most", a.Step, pod, container, cli.Span(a.AtMostSeconds)))
	}
	return lines
}

func runtimeLine(r status.Runtime) string {
	name := strings.TrimSpace(r.Name + " " + r.Version)
	if name == "" {
		name = "not known"
	}
	return name + unitText(r.Unit)
}

func kubeletLine(k status.Kubelet) string {
	text := "healthy"
	if !k.Healthy {
		text = "NOT HEALTHY"
	}
	text += unitText(k.Unit)
	switch {
	case k.View == node.ViewNone || k.View == "":
		text += ", its view of its pods CANNOT be seen"
	default:
		text += ", pods seen through " + string(k.View)
	}
	if k.SourcesNotReady {
		text += ", waits for its API server"
	}
	return text
}

func unitText(u status.Unit) string {
	if u.State == "" {
		return ""
	}
	return ", " + u.Name + " " + u.State
}

// recordsLine says how much is kept, and who tells of what there is to keep.
func recordsLine(r status.Records) string {
	text := fmt.Sprintf("%d kept, %d live, %s of %s", r.Records, r.Live, cli.Bytes(r.Bytes), cli.Bytes(r.LimitBytes))
	if r.Lost > 0 {
		text += fmt.Sprintf(", %d LOST", r.Lost)
	}
	var sources []string
	for _, name := range slices.Sorted(maps.Keys(r.Sources)) {
		sources = append(sources, name+": "+r.Sources[name])
	}
	if len(sources) > 0 {
		text += "; " + strings.Join(sources, ", ")
	}
	return text
}
