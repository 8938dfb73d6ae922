package restartpolicy

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/nodekeeper/nodekeeper/pkg/config"
)

var update = flag.Bool("update", false, "write docs/verdicts.md anew")

// The document is made from the table that decides, and is checked in.
func TestTheDocumentIsTheTable(t *testing.T) {
	const path = "../../docs/verdicts.md"
	want := document()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("docs/verdicts.md is not what the table says: make generate")
	}
}

func document() string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p(`# Verdicts: what nodekeeper does about what, and why not

This page is made from the table that decides (%[1]spkg/restartpolicy/table.go%[1]s, %[1]sclaim.go%[1]s, %[1]sinhibitor.go%[1]s; %[1]smake generate%[1]s).

A step is taken when four things come together:

1. a **verdict** has lasted for its time. Only time counts in which the agent looked: a suspended or stopped node does not age;
2. every claim of the step's **proof** is known to hold, and has held for %[2]s, or for as long as the verdict waits where that is
   shorter: what a pod's worker waited for may just have ended. What is unknown holds the step back like what is not so;
3. nothing **inhibits** it. The same list is asked when the step is planned and again, with a fresh look, just before it is taken;
4. the node's **budget** allows it.

%[1]snodekeeper status -o wide%[1]s shows for each pod the verdict, the claims that are missing, and what inhibits the next step.

A pod whose container is down shows %[1]sin-backoff%[1]s, or %[1]sstarting%[1]s, until the time of %[1]sforgotten%[1]s is over.
`, "`", span(proofHolds))
	p("## In one table\n")
	p("| verdict | the node shows | first step after | steps |")
	p("|---|---|---|---|")
	for _, r := range Rows {
		if len(r.Steps) > 0 {
			p("| [`%s`](#%s) | %s | %s | %s |", r.State, r.State, strings.TrimSuffix(r.Means, "."), r.Waits, stepWords(r))
		}
	}
	p("\nNever a step: %s.\n", strings.Join(reported(), ", "))
	p("## The budget of the node\n")
	p("For all reasons and all pods together:\n")
	p("| step | in an hour | in a day |")
	p("|---|---|---|")
	steps := config.Default().Restart.Steps
	for _, kind := range Steps {
		conf := StepOf(steps, kind)
		name := "`" + string(kind) + "`"
		if !conf.Enabled {
			name += " (off by default)"
		}
		p("| %s | %s | %s |", name, bound(conf.PerHour), bound(conf.PerDay))
	}
	p("\nWhat is beyond it is reported: in the status, by an alert, by the node's condition.\n")
	p("## What inhibits a step\n")
	p("| name in the status | a step is not taken while |")
	p("|---|---|")
	for _, i := range inhibitorTable {
		p("| `%s` | %s |", i.name, i.text)
	}
	p("\n## The times\n")
	p("As delivered; all are settings below `restart`. The tables above say the times as delivered.\n")
	p("| setting | time |")
	p("|---|---|")
	for _, group := range []struct {
		name string
		of   any
	}{{"deadlines", config.Default().Restart.Deadlines}, {"holdOffs", config.Default().Restart.HoldOffs}} {
		v := reflect.ValueOf(group.of)
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			p("| `%s.%s` | %s |", group.name, name, v.Field(i).Interface().(config.Duration).Duration)
		}
	}
	p("\n## Each verdict\n")
	for _, r := range Rows {
		p("### %s\n", r.State)
		p("%s\n", r.Means)
		if r.Waits != "" {
			p("- Waits: %s.", strings.TrimSuffix(r.Waits, "."))
		}
		for _, c := range r.Proof {
			p("- Proof `%s`: %s.", c.name, c.text)
		}
		if len(r.Steps) > 0 {
			p("- Steps: %s.", stepWords(r))
		} else {
			p("- Steps: none.")
		}
		if r.Never != "" {
			p("- Never: %s", r.Never)
		}
		p("")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func stepWords(r Row) string {
	var words []string
	for i, kind := range r.Steps {
		if i > 0 && r.Steps[i-1] == kind {
			continue
		}
		n := 0
		for _, k := range r.Steps {
			if k == kind {
				n++
			}
		}
		word := "`" + string(kind) + "`"
		if n > 1 {
			word += fmt.Sprintf(" (up to %d times)", n)
		}
		words = append(words, word)
	}
	if r.State == Rejected {
		return strings.Join(words, " where enabled, else ")
	}
	return strings.Join(words, ", then ")
}

func reported() []string {
	var out []string
	for _, r := range Rows {
		if len(r.Steps) == 0 {
			out = append(out, "`"+string(r.State)+"`")
		}
	}
	return out
}

func bound(n int) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprint(n)
}
