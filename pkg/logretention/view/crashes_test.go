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

	"github.com/spf13/pflag"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

var update = flag.Bool("update", false, "write the golden files anew")

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

const (
	apiserverNamespace = "openshift-kube-apiserver"
	nodeA              = "ip-10-0-131-183.eu-central-1.compute.internal"
	nodeB              = "ip-10-0-140-12.eu-central-1.compute.internal"
)

// ending is one record that ended so long before now.
func ending(node, namespace, pod, container string, attempt uint32, class record.Class, ago time.Duration) record.Entry {
	finished, code := now.Add(-ago), int32(255)
	started := finished.Add(-31 * time.Second)
	m := record.Meta{
		APIVersion: record.APIVersion, Kind: record.KindRecord, ID: record.ID(started, "1a2b3c4d5e", attempt),
		Attempt: record.Attempt{Namespace: namespace, Pod: pod + "-" + node, PodUID: "1a2b3c4d5e", Container: container,
			Attempt: attempt, ContainerID: "c0ffee", Revision: "12"},
		Node: node, Started: &started, Finished: &finished, Recorded: finished, Class: class, ExitCode: &code,
		Segments: []record.Segment{{Name: "log.0", Bytes: 4711}}, Series: record.Series{Index: 1},
	}
	return record.Entry{Path: record.ContainerDir(namespace, m.Pod, container) + "/" + m.ID, Meta: m}
}

// crashed is the index of a node with one of everything.
func crashed() *record.Index {
	lost := ending(nodeA, "kube-system", "etcd", "etcd", 1, record.LostInReboot, 80*time.Hour)
	lost.ExitCode, lost.Started = nil, nil
	held := ending(nodeA, apiserverNamespace, "kube-apiserver", "kube-apiserver", 12, record.OOM, 3*time.Hour)
	held.Hold = &record.Hold{Since: now, Reason: "case 0815"}
	held.Gaps = []record.Gap{{Before: 1, Bytes: 1 << 20, Reason: "the middle was dropped"}}
	held.Segments = []record.Segment{{Name: "log.0", Bytes: 1 << 20}, {Name: "log.1.gz", Bytes: 63 << 20}}
	acted := ending(nodeA, apiserverNamespace, "kube-apiserver", "kube-apiserver-cert-regeneration-controller", 7, record.Crash, 12*time.Minute)
	acted.Acts, acted.ClassReason = []string{"3", "4"}, "exited with code 255"
	replaced := ending(nodeA, apiserverNamespace, "kube-apiserver", "kube-apiserver", 13, record.ReplacedByRevision, 50*time.Second)
	index := &record.Index{APIVersion: record.APIVersion, Kind: record.KindIndex, Node: nodeA, BootID: "boot-1", Updated: now,
		Records: []record.Entry{lost, held, acted, replaced},
		Live: []record.Live{{Path: ".live/beef", Birth: record.Birth{APIVersion: record.APIVersion, Kind: record.KindBirth,
			Attempt: record.Attempt{Namespace: "kube-system", Pod: "etcd-" + nodeA, Container: "etcd", ContainerID: "beef", Attempt: 2},
			Seen:    now.Add(-79 * time.Hour)}, Segments: []record.Segment{{Name: "log.0", Bytes: 123456}}}},
		Dropped: map[string]int{
			record.ContainerDir(apiserverNamespace, "kube-apiserver-"+nodeA, "kube-apiserver"): 41,
			record.ContainerDir("kube-system", "etcd-"+nodeA, "etcd"):                          1,
		},
	}
	return index
}

// crashedToo is the index of another node.
func crashedToo() *record.Index {
	return &record.Index{APIVersion: record.APIVersion, Kind: record.KindIndex, Node: nodeB, Records: []record.Entry{
		ending(nodeB, "kube-system", "etcd", "etcd", 1, record.KilledByKubelet, time.Hour)}}
}

func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != text {
		t.Errorf("%s differs (go test ./pkg/logretention/view -update):\n%s", path, text)
	}
}

func narrow(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > cli.Width {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestCrashTables(t *testing.T) {
	for _, form := range []cli.Form{cli.AsTable, cli.AsWide} {
		var one, several bytes.Buffer
		if err := Crashes(&one, form, Filter{Live: true}.Of(crashed(), now), now); err != nil {
			t.Fatal(err)
		}
		if err := CrashesOfNodes(&several, form, []*record.Index{crashed(), crashedToo()}, now); err != nil {
			t.Fatal(err)
		}
		golden(t, "crashes-"+string(form)+".txt", one.String())
		golden(t, "crashes-nodes-"+string(form)+".txt", several.String())
		if form == cli.AsTable {
			narrow(t, one.String())
			narrow(t, several.String())
		}
	}
}

func TestTheWidestCrashTableFits(t *testing.T) {
	x := crashed()
	for i := range x.Records {
		e := &x.Records[i]
		e.ID, e.Class = record.ID(now, "12345678", 99999), record.ReplacedByRevision
		started := e.Finished.Add(-23*time.Hour - 59*time.Minute)
		e.Started, e.Node = &started, ""
		e.Gaps, e.Segments = []record.Gap{{}}, []record.Segment{{Bytes: 999 << 10}}
	}
	var out bytes.Buffer
	if err := CrashesOfNodes(&out, cli.AsTable, []*record.Index{x}, now); err != nil {
		t.Fatal(err)
	}
	narrow(t, out.String())
}

func TestCrashesAsDataAreAnIndex(t *testing.T) {
	var out bytes.Buffer
	if err := Crashes(&out, cli.AsJSON, crashed(), now); err != nil {
		t.Fatal(err)
	}
	var x record.Index
	if err := record.Decode(out.Bytes(), &x); err != nil || len(x.Records) != 4 || len(x.Live) != 1 {
		t.Errorf("%v: %+v", err, x)
	}
	out.Reset()
	var list []record.Index
	if err := CrashesOfNodes(&out, cli.AsJSON, nil, now); err != nil || out.String() != "[]\n" {
		t.Errorf("%v, %q", err, out.String())
	}
	out.Reset()
	if err := CrashesOfNodes(&out, cli.AsJSON, []*record.Index{crashed(), crashedToo()}, now); err != nil ||
		json.Unmarshal(out.Bytes(), &list) != nil || len(list) != 2 || list[1].Records[0].Node != nodeB {
		t.Errorf("%v: %+v", err, list)
	}
}

func TestNoCrashes(t *testing.T) {
	var out bytes.Buffer
	empty := &record.Index{Dropped: map[string]int{"a_b/c": 1}}
	if err := Crashes(&out, cli.AsTable, empty, now); err != nil || out.String() != "no crash records\n1 more record was evicted or could not be made\n" {
		t.Errorf("%v, %q", err, out.String())
	}
}

func TestFilter(t *testing.T) {
	etcd := "etcd-" + nodeA
	for _, c := range []struct {
		flags, argument        string
		records, live, dropped int
	}{
		{"", "", 4, 0, 42},
		{"--live", "", 4, 1, 42},
		{"-n kube-system --live", "", 1, 1, 1},
		{"-n kube-system", etcd, 1, 0, 1},
		{"", "kube-system/" + etcd, 1, 0, 1},
		{"", etcd, 1, 0, 1},
		{"-n kube-system", "etcd", 1, 0, 1},
		{"", "etcd", 1, 0, 1},
		{"", "etc", 0, 0, 0},
		{"-n other", etcd, 0, 0, 0},
		{"--since 1h", "", 2, 0, 42},
		{"--class crash,oom", "", 2, 0, 42},
		{"--class crash --class lost-in-reboot", "", 2, 0, 42},
	} {
		var f Filter
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		f.Add(flags)
		err := flags.Parse(strings.Fields(c.flags))
		if err == nil && c.argument != "" {
			err = f.Name(c.argument)
		}
		got := f.Of(crashed(), now)
		dropped := 0
		for _, n := range got.Dropped {
			dropped += n
		}
		if err != nil || len(got.Records) != c.records || len(got.Live) != c.live || dropped != c.dropped {
			t.Errorf("%q %q: %v, %d records, %d live, %d dropped", c.flags, c.argument, err, len(got.Records), len(got.Live), dropped)
		}
	}
}

func TestFilterRefuses(t *testing.T) {
	for _, argument := range []string{"", "a/", "/b", "a/b/c"} {
		if err := new(Filter).Name(argument); err == nil {
			t.Errorf("%q was taken", argument)
		}
	}
	if err := (&Filter{Namespace: "a"}).Name("b/c"); err == nil {
		t.Error("two namespaces were taken")
	}
	var f Filter
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.Add(flags)
	if err := flags.Parse([]string{"--class", "sad"}); err == nil || !strings.Contains(err.Error(), "lost-exit") {
		t.Errorf("%v", err)
	}
}

func TestAPodThatNothingIsKnownOf(t *testing.T) {
	x := &record.Index{
		Node:    nodeA,
		Records: []record.Entry{ending(nodeA, "a", "etcd", "etcd", 1, record.Crash, time.Hour)},
		Live:    []record.Live{{Birth: record.Birth{Attempt: record.Attempt{Namespace: "b", Pod: "web-" + nodeA}}}},
		Dropped: map[string]int{"c_gone/main": 2},
	}
	for name, is := range map[string]struct {
		filter Filter
		want   string
	}{
		"all pods":               {Filter{}, ""},
		"one with records":       {Filter{Pod: "etcd", Classes: []record.Class{record.OOM}}, ""},
		"one that runs":          {Filter{Namespace: "b", Pod: "web"}, ""},
		"one that was dropped":   {Filter{Pod: "gone"}, ""},
		"a mistyped one":         {Filter{Pod: "etdc"}, "nothing is known of pod etdc; there are a/etcd, b/web"},
		"in the wrong namespace": {Filter{Namespace: "b", Pod: "etcd"}, "nothing is known of pod etcd; there are a/etcd, b/web"},
	} {
		got := ""
		if err := is.filter.Known(x); err != nil {
			got = err.Error()
		}
		if got != is.want {
			t.Errorf("%s: %q, want %q", name, got, is.want)
		}
	}
}
