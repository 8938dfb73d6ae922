package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/promote"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/promote/controller"
)

// fake is a promoter after a pass, or before the first.
type fake struct {
	counts controller.Counts
	state  controller.State
}

func (f fake) Counts() controller.Counts { return f.counts }
func (f fake) State() controller.State   { return f.state }

func after() fake {
	return fake{
		controller.Counts{Promoted: 5, WouldPromote: 1, Raced: 2},
		controller.State{Leading: true, Known: true, LastPass: time.Unix(1772366400, 0), Took: 90 * time.Second,
			Pass: controller.Counts{Promoted: 3, Refused: map[promote.Rule]int{promote.RuleAge: 7}}},
	}
}

// get asks one path.
func get(t *testing.T, f fake, path string) (code int, body string) {
	t.Helper()
	w := httptest.NewRecorder()
	handler(f).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	text, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(text)
}

func TestMetricsOfThePromoter(t *testing.T) {
	code, page := get(t, after(), "/metrics")
	if code != http.StatusOK {
		t.Fatalf("%d %s", code, page)
	}
	for _, line := range []string{`nodekeeper_promote_objects{decision="age"} 7`, `nodekeeper_promote_objects{decision="promoted"} 3`,
		`nodekeeper_promotions_total{result="promoted"} 5`, `nodekeeper_promotions_total{result="dry-run"} 1`, "nodekeeper_promote_leader 1",
		"nodekeeper_promote_last_pass_timestamp_seconds 1.7723664e+09", "nodekeeper_promote_pass_duration_seconds 90"} {
		if !strings.Contains(page, "\n"+line+"\n") {
			t.Errorf("no line %q in\n%s", line, page)
		}
	}
	problems, err := promlint.New(strings.NewReader(page)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %+v", err, problems)
	}
	if _, page := get(t, fake{}, "/metrics"); strings.Contains(page, "nodekeeper_promote_last_pass") || !strings.Contains(page, "\nnodekeeper_promote_leader 0\n") {
		t.Errorf("before a pass:\n%s", page)
	}
}

func TestAPromoterIsReadyOnceItKnowsWhoLeads(t *testing.T) {
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": http.StatusServiceUnavailable} {
		if code, body := get(t, fake{}, path); code != want {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if code, body := get(t, fake{state: controller.State{Known: true}}, "/readyz"); code != http.StatusOK {
		t.Errorf("%d %s", code, body)
	}
}

func TestTheDocumentSaysWhatThePromoterShows(t *testing.T) {
	data, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented, there []string
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "| `nodekeeper_promot") {
			documented = append(documented, strings.TrimSpace(line))
		}
	}
	families, err := registry(after()).Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "nodekeeper_") {
			continue
		}
		var labels []string
		for _, l := range f.Metric[0].Label {
			labels = append(labels, "`"+l.GetName()+"`")
		}
		there = append(there, "| `"+f.GetName()+"` | "+strings.ToLower(f.GetType().String())+" | "+strings.Join(labels, ", ")+" | "+f.GetHelp()+" |")
	}
	slices.Sort(documented)
	slices.Sort(there)
	if !slices.Equal(documented, there) {
		t.Errorf("docs/metrics.md has\n%s\nand there is\n%s", strings.Join(documented, "\n"), strings.Join(there, "\n"))
	}
}
