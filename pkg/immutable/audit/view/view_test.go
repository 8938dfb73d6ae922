package view

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/audit/expect"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/audit/mounts"
)

var update = flag.Bool("update", false, "write the golden files anew")

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// all is an audit of everything: testdata has a log and a journal.
func all(t *testing.T) Audit {
	t.Helper()
	f := Files{logs: []string{"testdata/audit.log"}, journals: []string{"testdata/journal.txt"}}
	a, err := f.Read(nil, nil, now)
	if err != nil {
		t.Fatal(err)
	}
	watch := expect.Kubelet{Version: "v1.37.2", Strategy: expect.Watch}
	a.Pods = PodsOf([]expect.Node{
		{Name: "worker-0.example.com", Kubelet: watch, Counts: expect.Counts{
			Pods: 250, Objects: 2200, Immutable: 1800, Mutable: 390, EnvOnly: 6, Missing: 4, Members: 200, Families: 2, Promotable: 100,
			Refused: map[string]int{"published": 200, "no-opt-in": 96}, Reads: 2700, Once: 20, ReadObjects: 2194, Unknown: 0,
		}},
		{Name: "worker-1-with-a-very-long-name-that-does-not-fit.example.com", Kubelet: expect.Kubelet{Version: "v1.34.1+a1b2c3d", Strategy: expect.Watch}, Counts: expect.Counts{
			Pods: 3, Objects: 12, Immutable: 1, Mutable: 11, Unknown: 4, Members: 2, Families: 2, Reads: 14, ReadObjects: 12, Refused: map[string]int{"published": 2},
		}},
	}, []string{"node worker-1: its strategy is not known: needs get on nodes/proxy"})
	created, written := now.Add(-time.Minute), now.Add(-time.Hour)
	mount := func(pod, name string, v mounts.Verdict, why string) mounts.Mount {
		return mounts.Mount{Pod: "ci-op-1234/" + pod, PodUID: "1", Volume: "credentials", Resource: "secrets", Namespace: "ci-op-1234", Name: name,
			Verdict: v, Why: why, Immutable: true, LiveUID: "0b52ae2c-61d8-4bd5-8b8c-0e0a4a5a8c7b", Created: &created, Written: &written}
	}
	a.Mounts = MountsOf("worker-0.example.com", []mounts.Mount{
		mount("fine", "fine", mounts.Same, ""),
		mount("unit", "pull", mounts.Predecessor, "written before the live object was created, same content"),
		mount("e2e-aws-with-a-long-name", "registry-credentials-5m6h7", mounts.Recreated, "files: 1 changed; written before the live object was created"),
		{Pod: "a/\x1b[31m", Volume: "v", Resource: "configmaps", Name: "n", Verdict: mounts.Unseen, Why: "HTTP status 403: no"},
	})
	return a
}

func TestAnAuditIsShownInEachForm(t *testing.T) {
	a := all(t)
	for form, file := range map[cli.Form]string{cli.AsTable: "table.txt", cli.AsWide: "wide.txt", cli.AsJSON: "audit.json"} {
		var out bytes.Buffer
		if err := Write(&out, form, a); err != nil {
			t.Fatal(err)
		}
		golden(t, file, out.Bytes())
		if form == cli.AsJSON && !json.Valid(out.Bytes()) {
			t.Error("no JSON")
		}
		if form != cli.AsJSON && strings.Contains(out.String(), "\x1b") {
			t.Error("a name moves the cursor")
		}
		if form == cli.AsTable {
			for line := range strings.Lines(out.String()) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > cli.Width {
					t.Errorf("%d columns: %s", n, line)
				}
			}
		}
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got) {
		t.Errorf("%s differs (go test ./pkg/immutable/audit/view -update):\n%s", path, got)
	}
}

func TestThePictureHasBothCounts(t *testing.T) {
	f := Files{svg: filepath.Join(t.TempDir(), "a.svg")}
	if err := f.Draw(all(t)); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(f.svg)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "audit.svg", got)
	f.svg = filepath.Join(t.TempDir(), "no", "such", "dir")
	if err := f.Draw(all(t)); err == nil {
		t.Error("nothing was said of a picture that could not be written")
	}
}

func TestWhatIsEmptyIsShownAsSuch(t *testing.T) {
	f := Files{logs: []string{"-"}}
	a, err := f.Read(strings.NewReader(""), nil, now)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Write(&out, cli.AsTable, a); err != nil || !strings.Contains(out.String(), "No request of a node") {
		t.Errorf("%v %s", err, out.String())
	}
	if err := Picture(&out, a); err != nil {
		t.Error(err)
	}
}

func TestAJournalOfSomethingElseIsToldFromAQuietOne(t *testing.T) {
	const quiet = `I1130 07:41:47.700000      98 kubelet.go:2460] "SyncLoop ADD" source="api"` + "\n"
	for text, want := range map[string]string{
		"# nodekeeper\n\nStatic pods.\n": "No line of a kubelet in 3 lines: name",
		"":                               "No line of a kubelet in 0 lines: name",
		quiet:                            "at --v=3 only",
	} {
		f := Files{journals: []string{"-"}}
		a, err := f.Read(strings.NewReader(text), nil, now)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := Write(&out, cli.AsTable, a); err != nil || !strings.Contains(out.String(), want) || strings.Contains(out.String(), "STARTS") == strings.HasPrefix(want, "No line") {
			t.Errorf("%q: %v %s", text, err, out.String())
		}
	}
}

func TestBadUsageIsTold(t *testing.T) {
	for _, f := range []Files{{svg: "x"}, {logs: []string{"-"}, journals: []string{"-"}}} {
		if f.Check() == nil {
			t.Errorf("%+v", f)
		}
	}
	f := Files{logs: []string{"a", "-"}, svg: "x"}
	if err := f.Check(); err != nil || !f.Any() {
		t.Error(err)
	}
	gone := Files{journals: []string{filepath.Join(t.TempDir(), "gone")}}
	if _, err := gone.Read(nil, nil, now); !os.IsNotExist(err) && !strings.Contains(err.Error(), "no such file") {
		t.Error(err)
	}
}
