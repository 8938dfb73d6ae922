package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// statusTable writes the header and one line for each verdict, worst first.
func (p *program) statusTable(form output, s status.Status, now node.Instant) error {
	limit := width
	columns := []column{podColumn(22), elastic("CONTAINER", 16), rigid("VERDICT"), rigid("FOR"), rigid("NEXT"),
		elastic("BLOCKED-BY", 10), elastic("LAST STEP", 12)}
	if form == asWide {
		limit = 0
		columns = append(columns, rigid("DETAIL"), rigid("STEPS"))
	}
	for _, line := range header(s, now) {
		line = printable(line)
		if limit > 0 {
			line = start(line, limit)
		}
		if _, err := fmt.Fprintln(p.out, line); err != nil {
			return err
		}
	}
	fmt.Fprintln(p.out)
	verdicts := slices.Clone(s.Verdicts)
	slices.SortStableFunc(verdicts, func(a, b status.Verdict) int { return rank(a) - rank(b) })
	var rows [][]string
	for _, v := range verdicts {
		pod, container := names(form, v.Namespace, v.Pod, v.Container)
		row := []string{pod, container, string(v.State), span(v.ForSeconds), next(v), blockedBy(form, v), lastStep(v)}
		if form == asWide {
			row = append(row, dash(v.Detail), dash(joined(v.Steps)))
		}
		rows = append(rows, row)
	}
	return writeTable(p.out, limit, columns, rows)
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
	return span(*v.Next)
}

// blockedBy names all guards in the wide form, and the first in the other.
func blockedBy(form output, v status.Verdict) string {
	if n := len(v.BlockedBy); n > 1 && form != asWide {
		return fmt.Sprintf("%s +%d", v.BlockedBy[0], n-1)
	}
	return dash(strings.Join(v.BlockedBy, ","))
}

// lastStep is the step, its result, and how long ago it began.
func lastStep(v status.Verdict) string {
	if v.Last == nil {
		return "-"
	}
	return fmt.Sprintf("%s %s %s", v.Last.Step, v.Last.Result, span(v.Last.AgoSeconds))
}

func joined(steps []restartpolicy.StepKind) string {
	var names []string
	for _, s := range steps {
		names = append(names, string(s))
	}
	return strings.Join(names, ",")
}

// header says who looks and what can be seen, one line each. What cannot be
// seen, and what keeps the agent from acting, stands in lines of its own.
func header(s status.Status, now node.Instant) []string {
	n := s.Node
	lines := []string{
		fmt.Sprintf("node       %s", dash(n.Name)),
		fmt.Sprintf("agent      %s, pid %d, looked %s ago, every %s", s.Agent.Version, s.Agent.PID,
			span(max(0, int64((now.Boot-s.Agent.Taken.Boot)/time.Second))), time.Duration(s.Agent.IntervalSeconds*float64(time.Second))),
		"runtime    " + runtimeLine(n.Runtime),
		"kubelet    " + kubeletLine(n.Kubelet),
		fmt.Sprintf("manifests  %d in %s", n.Manifests.Pods, dash(n.Manifests.Dir)),
	}
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
	add("  kubelet's configuration: ", n.SettingsError)
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
		pod, container := names(asWide, a.Namespace, a.Pod, a.Container)
		lines = append(lines, fmt.Sprintf("ACTING     %s for %s %s, %s at most", a.Step, pod, container, span(a.AtMostSeconds)))
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
