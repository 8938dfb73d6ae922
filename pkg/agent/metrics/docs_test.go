package metrics

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// The tables of docs/metrics.md are the agent's families and nothing else, but
// for the promoter's, which cmd/promote sees to.
func TestTheDocumentSaysWhatThereIs(t *testing.T) {
	data, err := os.ReadFile("../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented, there []string
	for line := range strings.Lines(string(data)) {
		if name, ok := strings.CutPrefix(line, "| `"); ok && !strings.HasPrefix(name, "nodekeeper_promot") &&
			(strings.HasPrefix(name, "nodekeeper_") || strings.HasPrefix(name, "process_")) {
			documented = append(documented, strings.TrimSpace(line))
		}
	}
	for _, f := range Families {
		labels := make([]string, len(f.Labels))
		for i, l := range f.Labels {
			labels[i] = "`" + l + "`"
		}
		there = append(there, "| `"+f.Name+"` | "+f.Type+" | "+strings.Join(labels, ", ")+" | "+f.Help+" |")
	}
	for _, line := range there {
		if !slices.Contains(documented, line) {
			t.Errorf("not in docs/metrics.md: %s", line)
		}
	}
	for _, line := range documented {
		if !slices.Contains(there, line) {
			t.Errorf("in docs/metrics.md alone: %s", line)
		}
	}
}
