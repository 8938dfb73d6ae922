package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/audit/apilog"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/audit/journal"
)

// rowsOfTable bounds what the table shows; wide shows all.
const rowsOfTable = 20

func (p *page) log(r *apilog.Report) {
	p.section("AUDIT LOG OF THE API SERVER")
	if r.First == nil {
		p.tell(fmt.Sprintf("No request of a node for Secrets or ConfigMaps in %d lines (%d of them no audit events).", r.Lines, r.Foreign))
		return
	}
	by := cli.Dash(r.WatchesBy)
	if r.OthersBy != "" && r.OthersBy != r.WatchesBy {
		by += " (watches) and " + r.OthersBy
	}
	p.tell(fmt.Sprintf("%s to %s, %d lines, counted by stage %s.", clock(*r.First), clock(*r.Last), r.Lines, by))
	p.tell(trouble(r))
	var rows [][]string
	add := func(name, client string, a apilog.Asked, objects, peak, at string) {
		rows = append(rows, []string{name, client, fmt.Sprint(a.Watch), fmt.Sprint(a.WatchList), fmt.Sprint(a.List), fmt.Sprint(a.Get), fmt.Sprint(a.EtcdReads), objects, peak, at})
	}
	hidden := 0
	for i, n := range r.Nodes {
		if p.form != cli.AsWide && i >= rowsOfTable {
			hidden++
			continue
		}
		for j, client := range slices.Sorted(maps.Keys(n.Clients)) {
			objects, peak, at := "", "", ""
			name := ""
			if j == 0 {
				name, objects, peak, at = n.Node, fmt.Sprint(n.Objects), fmt.Sprint(n.Peak.Requests), second(n.Peak.At)
			}
			add(name, client, n.Clients[client], objects, peak, at)
		}
	}
	if len(r.Nodes) > 1 {
		name, peak, at := "all", fmt.Sprint(r.Peak.Requests), second(r.Peak.At)
		for _, client := range slices.Sorted(maps.Keys(r.Clients)) {
			add(name, client, r.Clients[client], "", peak, at)
			name, peak, at = "", "", ""
		}
	}
	p.table([]cli.Column{
		cli.Elastic("NODE", 8), cli.Leading("CLIENT", 7), cli.Rigid("WATCH"), cli.Rigid("WATCH-LIST"), cli.Rigid("LIST"), cli.Rigid("GET"),
		cli.Rigid("ETCD"), cli.Rigid("OBJECTS"), cli.Rigid("PEAK/S"), cli.Rigid("AT"),
	}, rows)
	if hidden > 0 {
		p.tell(fmt.Sprintf("%d more nodes: -o wide.", hidden))
	}
	if len(r.Refused) > 0 {
		var said string
		for _, code := range slices.Sorted(maps.Keys(r.Refused)) {
			said += fmt.Sprintf(" %d times %d,", r.Refused[code], code)
		}
		p.tell("Refused:" + said[:len(said)-1] + ".")
	}
	p.places("TOP NAMESPACES", r.Namespaces)
	if p.form == cli.AsWide {
		p.places("TOP OBJECTS", r.TopObjects)
	}
}

// trouble says what of a log was not counted, or not in each table.
func trouble(r *apilog.Report) string {
	var said []string
	for _, t := range []struct {
		what string
		n    int64
	}{
		{"lines that are no audit events or torn", r.Foreign}, {"lines that are too long", r.TooLong}, {"files that end in the middle", r.Torn},
		{"requests in no row of objects", r.Left.Objects}, {"requests in no row of nodes", r.Left.Nodes}, {"requests in no peak", r.Left.Seconds},
	} {
		if t.n > 0 {
			said = append(said, fmt.Sprintf("%s: %d", t.what, t.n))
		}
	}
	if len(said) == 0 {
		return "All of it was read and counted."
	}
	return "Left out: " + strings.Join(said, ", ") + "."
}

func (p *page) places(title string, places []apilog.Place) {
	p.section(title)
	var rows [][]string
	for _, l := range places {
		what := l.Namespace
		objects := fmt.Sprint(l.Objects)
		if l.Resource != "" {
			what, objects = l.Resource+"/"+l.Namespace+"/"+l.Name, "1"
		}
		rows = append(rows, []string{cli.Dash(what), fmt.Sprint(l.Watch), fmt.Sprint(l.List), fmt.Sprint(l.Get), objects, fmt.Sprint(l.Nodes)})
	}
	name := cli.Elastic("NAMESPACE", 20)
	if len(places) > 0 && places[0].Resource != "" {
		name = cli.Elastic("OBJECT", 20)
	}
	p.table([]cli.Column{name, cli.Rigid("WATCH"), cli.Rigid("LIST"), cli.Rigid("GET"), cli.Rigid("OBJECTS"), cli.Rigid("NODES")}, rows)
}

func (p *page) journal(r *journal.Report) {
	p.section("JOURNAL OF THE KUBELET")
	if r.OfKubelet {
		p.counts(r)
	} else {
		p.tell(fmt.Sprintf("No line of a kubelet in %d lines: name what journalctl -u kubelet prints, or the kubelet's own log.", r.Lines))
	}
	if r.TooLong+r.Torn > 0 {
		p.tell(fmt.Sprintf("%d lines are too long, %d files end in the middle.", r.TooLong, r.Torn))
	}
}

func (p *page) counts(r *journal.Report) {
	rows := [][]string{{
		fmt.Sprint(r.Starts), cli.Dash(strings.Join(r.Versions, ", ")), fmt.Sprint(r.Reflectors), fmt.Sprint(r.Objects), fmt.Sprint(r.Populated),
		fmt.Sprint(r.Immutable), fmt.Sprint(r.Idle), fmt.Sprint(r.Late), fmt.Sprint(r.Peak), second(r.PeakAt),
	}}
	p.table([]cli.Column{
		cli.Rigid("STARTS"), cli.Leading("VERSION", 7), cli.Rigid("REFLECTORS"), cli.Rigid("OBJECTS"), cli.Rigid("READ"),
		cli.Rigid("IMMUTABLE"), cli.Rigid("IDLE"), cli.Rigid("LATE"), cli.Rigid("PEAK/S"), cli.Rigid("AT"),
	}, rows)
	if r.Reflectors == 0 {
		p.tell("A kubelet logs \"Starting reflector\" at --v=3 only; at --v=2 see READ, its \"Caches populated\".")
	}
}

// beside puts the counts side by side, which are of different things.
func (p *page) beside(a Audit) {
	var rows [][]string
	add := func(who, objects, reflectors, watches, lists, gets string) {
		rows = append(rows, []string{who, objects, reflectors, watches, lists, gets})
	}
	sources := 0
	if a.Pods != nil {
		sources++
		now := a.Pods.Loads[0]
		add("pods, for one start", fmt.Sprint(a.Pods.Total.Objects), fmt.Sprint(now.StartWatches), fmt.Sprint(now.StartWatches), fmt.Sprint(now.StartLists), fmt.Sprint(now.StartGets))
	}
	if a.Journal != nil {
		sources++
		add("kubelet's journal", fmt.Sprint(a.Journal.Objects), fmt.Sprint(a.Journal.Reflectors), "-", "-", "-")
	}
	if a.Log != nil {
		sources++
		for _, client := range slices.Sorted(maps.Keys(a.Log.Clients)) {
			c := a.Log.Clients[client]
			add("audit log, "+client, "-", "-", fmt.Sprint(c.Watch), fmt.Sprint(c.List), fmt.Sprint(c.Get))
		}
		if len(a.Log.Clients) == 0 {
			add("audit log", "-", "-", "0", "0", "0")
		}
	}
	if sources < 2 {
		return
	}
	p.section("SIDE BY SIDE")
	p.table([]cli.Column{
		cli.Rigid("COUNTED IN"), cli.Rigid("OBJECTS"), cli.Rigid("REFLECTORS"), cli.Rigid("WATCH"), cli.Rigid("LIST"), cli.Rigid("GET"),
	}, rows)
	p.tell("A kubelet starts a reflector for each object, with the guard as without it: what the guard saves is seen in the audit log only.")
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

func second(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format("15:04:05Z")
}
