package manifests

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"
)

// panel is what Grafana's panels and those of the console have in common.
type panel struct {
	Title   string `json:"title"`
	Type    string `json:"type"`
	Targets []struct {
		Expr string `json:"expr"`
	} `json:"targets"`
	Panels []panel `json:"panels"`
}

// queries are those of a dashboard, by the title of their panel.
func queries(t *testing.T, path string) map[string][]string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Title  string  `json:"title"`
		Panels []panel `json:"panels"`
		Rows   []panel `json:"rows"`
	}
	if err := json.Unmarshal(data, &board); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if board.Title != "nodekeeper" {
		t.Errorf("%s: title %q", path, board.Title)
	}
	found := map[string][]string{}
	for _, row := range append(board.Rows, panel{Panels: board.Panels}) {
		for _, p := range row.Panels {
			if p.Type == "row" {
				continue
			}
			if len(p.Targets) == 0 || found[p.Title] != nil {
				t.Errorf("%s: %d queries of %q, or a second panel of that name", path, len(p.Targets), p.Title)
			}
			for _, target := range p.Targets {
				found[p.Title] = append(found[p.Title], target.Expr)
			}
		}
	}
	return found
}

func TestDashboardsReadMetricsThatExist(t *testing.T) {
	metrics := known(t)
	grafana := queries(t, root+"/monitoring/dashboards/nodekeeper.json")
	for title, exprs := range grafana {
		for _, expr := range exprs {
			for name := range selected(t, expr) {
				if !metrics[name] {
					t.Errorf("%s reads %s", title, name)
				}
			}
		}
	}
	console := queries(t, root+"/overlays/openshift/dashboard.json")
	if !maps.EqualFunc(grafana, console, slices.Equal) {
		t.Errorf("the console shows something else than Grafana:\n%v\n%v", console, grafana)
	}
	if len(grafana) < 10 {
		t.Errorf("%d panels", len(grafana))
	}
}
