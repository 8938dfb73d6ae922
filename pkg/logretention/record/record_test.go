package record

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestNamesCannotLeadElsewhere(t *testing.T) {
	long := strings.Repeat("n", 63) + "_" + strings.Repeat("p", 253)
	for _, name := range []string{"", ".", "..", "../../etc", "a/b", "a b", ".live", "index.json", "naïve", "x\x00y", long} {
		dir := fit(name)
		if strings.ContainsAny(dir, "/\x00 ") || dir == "" || dir[0] == '.' || dir == IndexFile || len(dir) > 255 {
			t.Errorf("%q becomes %q", name, dir)
		}
		if other := fit(name + "x"); other == dir {
			t.Errorf("%q and %qx share %q", name, name, dir)
		}
	}
	if got := ContainerDir("kube-system", "etcd-node1", "etcd"); got != "kube-system_etcd-node1/etcd" {
		t.Errorf("ordinary names are kept: %q", got)
	}
}

func TestIDsSortByStartAndAreRecognised(t *testing.T) {
	at := time.Date(2026, 11, 30, 9, 3, 37, 0, time.FixedZone("", 3600))
	early, late := ID(at, "1A2B3C4D-0000", 7), ID(at.Add(time.Second), "0-1", 6)
	if early != "20261130T080337Z-1a2b3c4d-7" || early >= late {
		t.Errorf("%q, %q", early, late)
	}
	for name, want := range map[string]bool{early: true, early + "-2": true, ID(at, "", 0): true, "meta.json": false, early + "/..": false, "": false} {
		if IsID(name) != want {
			t.Errorf("IsID(%q) is %v", name, !want)
		}
	}
}

func TestSegmentNames(t *testing.T) {
	for _, n := range []int{0, 1, 999999999} {
		for _, compressed := range []bool{false, true} {
			got, gz, ok := ParseSegment(SegmentName(n, compressed))
			if !ok || got != n || gz != compressed {
				t.Errorf("%d %v: %d %v %v", n, compressed, got, gz, ok)
			}
		}
	}
	for _, name := range []string{"log.", "log.01", "log.1.gz.tmp", "../log.1", "log.-1", "meta.json", "log.9999999999"} {
		if _, _, ok := ParseSegment(name); ok {
			t.Errorf("%q is no segment", name)
		}
	}
}

func TestDecodeRefusesWhatWouldMislead(t *testing.T) {
	meta := Meta{
		APIVersion: APIVersion, Kind: KindRecord, ID: "20261130T080337Z-1a2b3c4d-7", Class: Crash,
		Attempt:  Attempt{Namespace: "a", Pod: "b", Container: "c", ContainerID: "d"},
		Segments: []Segment{{Name: "log.0", Bytes: 3}},
	}
	index := func(change func(*Entry)) []byte {
		e := Entry{Path: "a_b/c/" + meta.ID, Meta: meta}
		change(&e)
		data, err := json.Marshal(Index{APIVersion: APIVersion, Kind: KindIndex, Records: []Entry{e}})
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	if err := Decode(index(func(*Entry) {}), new(Index)); err != nil {
		t.Errorf("a good index: %v", err)
	}
	for name, change := range map[string]func(*Entry){
		"path elsewhere": func(e *Entry) { e.Path = "../../../etc" },
		"segment":        func(e *Entry) { e.Segments = []Segment{{Name: "../meta.json"}} },
		"gap":            func(e *Entry) { e.Gaps = []Gap{{Before: 9}} },
		"class":          func(e *Entry) { e.Class = "bad" },
		"kind":           func(e *Entry) { e.Kind = "Pod" },
		"id":             func(e *Entry) { e.ID = ".." },
		"container id":   func(e *Entry) { e.ContainerID = "../x" },
	} {
		if err := Decode(index(change), new(Index)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"nodekeeper.io/v1alpha1","kind":"CrashRecord","segments":[{"name":"log.0"}]}`))
	f.Add([]byte(`{"apiVersion":"nodekeeper.io/v1alpha1","kind":"CrashRecordIndex","records":[{"path":"a_b/c/x"}],"live":[{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, v := range []any{new(Meta), new(Birth), new(Capture), new(Index)} {
			_ = Decode(data, v)
		}
	})
}
