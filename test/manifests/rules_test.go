package manifests

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"k8s.io/apimachinery/pkg/util/yaml"
	plain "sigs.k8s.io/yaml"
)

const (
	runbooks   = "../../docs/runbooks"
	runbookURL = "https://github.com/nodekeeper/nodekeeper/blob/main/docs/runbooks/"
)

// alerts are the rules of both objects, checked as promtool check rules does.
func alerts(t *testing.T) []rulefmt.Rule {
	t.Helper()
	data, err := os.ReadFile(root + "/monitoring/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var found []rulefmt.Rule
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		var object struct {
			Spec map[string]any `json:"spec"`
		}
		if err := documents.Decode(&object); errors.Is(err, io.EOF) {
			return found
		} else if err != nil {
			t.Fatal(err)
		}
		spec, err := plain.Marshal(object.Spec)
		if err != nil {
			t.Fatal(err)
		}
		groups, errs := rulefmt.Parse(spec, false, model.UTF8Validation, promQL, slog.New(slog.DiscardHandler))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		for _, g := range groups.Groups {
			found = append(found, g.Rules...)
		}
	}
}

func TestEachAlertSaysWhatItMeansAndWhereToReadOn(t *testing.T) {
	severities := []string{"info", "warning", "critical"}
	seen := map[string]bool{}
	for _, r := range alerts(t) {
		if seen[r.Alert] {
			t.Errorf("two alerts %s", r.Alert)
		}
		seen[r.Alert] = true
		if !strings.HasPrefix(r.Alert, "Nodekeeper") {
			t.Errorf("%s: whose alert is that?", r.Alert)
		}
		if !slices.Contains(severities, r.Labels["severity"]) {
			t.Errorf("%s: severity %q", r.Alert, r.Labels["severity"])
		}
		for _, name := range []string{"summary", "description"} {
			if text := r.Annotations[name]; !strings.HasSuffix(text, ".") {
				t.Errorf("%s: %s %q", r.Alert, name, text)
			}
		}
		if strings.Contains(r.Annotations["summary"], "{{") {
			t.Errorf("%s: a summary is the same for all", r.Alert)
		}
		if got, want := r.Annotations["runbook_url"], runbookURL+r.Alert+".md"; got != want {
			t.Errorf("%s: runbook_url %s", r.Alert, got)
		}
		if r.For == 0 {
			t.Errorf("%s fires at the first sight", r.Alert)
		}
	}
}

func TestEachAlertHasAPageAndEachPageAnAlert(t *testing.T) {
	pages, err := filepath.Glob(runbooks + "/Nodekeeper*.md")
	if err != nil {
		t.Fatal(err)
	}
	without := map[string]bool{}
	for _, page := range pages {
		without[strings.TrimSuffix(filepath.Base(page), ".md")] = true
	}
	for _, r := range alerts(t) {
		if !without[r.Alert] {
			t.Errorf("%s has no page", r.Alert)
			continue
		}
		delete(without, r.Alert)
		page, err := os.ReadFile(filepath.Join(runbooks, r.Alert+".md"))
		if err != nil {
			t.Fatal(err)
		}
		at := 0
		for _, heading := range []string{"# " + r.Alert, "## Meaning", "## Impact", "## Diagnosis", "## Mitigation"} {
			i := strings.Index(string(page[at:]), heading+"\n")
			if i < 0 {
				t.Errorf("%s: no %q in its place", r.Alert, heading)
				break
			}
			at += i
		}
	}
	for name := range without {
		t.Errorf("%s.md is of no alert", name)
	}
}

// known are the metrics that exist: those of docs/metrics.md, which a test of theirs
// compares with the programs. up is Prometheus's own.
func known(t *testing.T) map[string]bool {
	t.Helper()
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{"up": true}
	for _, name := range regexp.MustCompile(`\bnodekeeper_[a-z0-9_]+`).FindAllString(string(page), -1) {
		names[name] = true
	}
	return names
}

// selected are the metrics that an expression reads.
func selected(t *testing.T, expr string) map[string][]*labels.Matcher {
	t.Helper()
	parsed, err := promQL.ParseExpr(expr)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	found := map[string][]*labels.Matcher{}
	parser.Inspect(parsed, func(n parser.Node, _ []parser.Node) error {
		if v, ok := n.(*parser.VectorSelector); ok {
			found[v.Name] = append(found[v.Name], v.LabelMatchers...)
		}
		return nil
	})
	return found
}

func TestAlertsReadMetricsThatExist(t *testing.T) {
	metrics := known(t)
	for _, r := range alerts(t) {
		for _, name := range slices.Sorted(maps.Keys(selected(t, r.Expr))) {
			if !metrics[name] {
				t.Errorf("%s reads %s", r.Alert, name)
			}
		}
	}
}
