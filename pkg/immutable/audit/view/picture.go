package view

import (
	"io"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/audit/apilog"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/audit/picture"
)

// Picture writes an SVG of what has times: the requests in the audit log and the
// reflectors in the journal.
func Picture(w io.Writer, a Audit) error {
	var panels []picture.Panel
	if a.Log != nil {
		panel := picture.Panel{
			Title: "Requests of nodes for Secrets and ConfigMaps (audit log)", Unit: "requests",
			Series: []string{"kubelet WATCH", "kubelet LIST", "kubelet GET", "nodekeeper-proxy WATCH", "nodekeeper-proxy LIST", "other"},
		}
		for _, s := range a.Log.Series {
			k, g, o := s.Clients[apilog.Kubelet], s.Clients[apilog.Guard], s.Clients[apilog.Other]
			panel.Points = append(panel.Points, picture.Point{At: s.At, Counts: []int64{k.Watch, k.List, k.Get, g.Watch, g.List, g.Get + o.Total()}})
		}
		panels = append(panels, panel)
	}
	if a.Journal != nil {
		panel := picture.Panel{Title: "Reflectors started (kubelet's journal)", Unit: "reflectors", Series: []string{"reflectors"}}
		for _, s := range a.Journal.Series {
			panel.Points = append(panel.Points, picture.Point{At: s.At, Counts: []int64{s.Reflectors}})
		}
		panels = append(panels, panel)
	}
	return picture.Write(w, panels)
}
