package store

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

func TestWhatMakesNoSenseIsPutAwayWithOneLine(t *testing.T) {
	s := newScene(t)
	st := s.open()
	e0, e1, e2 := s.crashes(st, 0, line(0)), s.crashes(st, 1, line(1)), s.crashes(st, 2, line(2))
	must(t, st.Close())
	must(t, os.WriteFile(filepath.Join(s.opts.Root, e0.Path, record.MetaFile), []byte("{"), 0o600))
	must(t, os.Remove(filepath.Join(s.opts.Root, e1.Path, record.MetaFile)))
	must(t, os.Mkdir(filepath.Join(s.opts.Root, "acts"), 0o700))
	must(t, os.WriteFile(filepath.Join(s.opts.Root, "acts", ".tmp-theirs"), nil, 0o600))
	must(t, os.WriteFile(filepath.Join(s.opts.Root, record.IndexFile), []byte("[]"), 0o600))

	st = s.open()
	x := st.Index()
	if len(x.Records) != 1 || x.Records[0].Path != e2.Path {
		t.Errorf("records %+v", x.Records)
	}
	logs, err := filepath.Glob(filepath.Join(s.opts.Root, record.QuarantineDir, "*", "log.0"))
	if err != nil || len(logs) != 2 {
		t.Errorf("in the quarantine: %v, %v", logs, err)
	}
	if n := strings.Count(s.log.String(), "put into the quarantine"); n != 1 {
		t.Errorf("%d lines in the log:\n%s", n, s.log)
	}
	if _, err := os.Lstat(filepath.Join(s.opts.Root, "acts", ".tmp-theirs")); err != nil {
		t.Errorf("a file of the acts: %v", err)
	}
	var again record.Index
	must(t, record.Decode([]byte(read(t, filepath.Join(s.opts.Root, record.IndexFile))), &again))
	if len(again.Records) != 1 {
		t.Errorf("index %+v", again)
	}
}

func TestTheQuarantineIsBounded(t *testing.T) {
	s := newScene(t)
	st := s.open()
	q := st.newQuarantine()
	for range quarantineEntries + 5 {
		must(t, os.WriteFile(filepath.Join(s.opts.Root, "odd"), []byte("?"), 0o600))
		q.add("odd", errSenseless)
		s.pass(1)
	}
	entries, err := os.ReadDir(filepath.Join(s.opts.Root, record.QuarantineDir))
	if err != nil || len(entries) != quarantineEntries {
		t.Errorf("%d entries, %v", len(entries), err)
	}
}

func TestTheRootIsForRootAlone(t *testing.T) {
	s := newScene(t)
	st := s.open()
	e := s.crashes(st, 0, line(0))
	for _, path := range []string{"", record.LiveDir, filepath.Dir(e.Path), e.Path} {
		info, err := os.Stat(filepath.Join(s.opts.Root, path))
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%q: %v, %v", path, info.Mode(), err)
		}
	}
	other := newScene(t)
	must(t, os.MkdirAll(other.opts.Root, 0o750))
	other.open()
	if info, err := os.Stat(other.opts.Root); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("the mode of a root that was there became %v, %v", info.Mode(), err)
	}
}

func TestUnchangedIndexesAreNotWrittenAgain(t *testing.T) {
	s := newScene(t)
	st := s.open()
	s.crashes(st, 0, line(0))
	must(t, st.Close())
	path := filepath.Join(s.opts.Root, record.IndexFile)
	before, err := stat(path)
	must(t, err)
	st = s.open()
	must(t, st.Tend(context.Background()))
	if after, err := stat(path); err != nil || after.id != before.id {
		t.Errorf("written again, %v", err)
	}
}

// Whatever the files of a root say, opening it neither panics nor removes a
// log.
func FuzzOpen(f *testing.F) {
	meta, _ := json.Marshal(record.Meta{APIVersion: record.APIVersion, Kind: record.KindRecord, ID: "20261130T090000Z-1a2b3c4d-0", Attempt: birth(0).Attempt, Class: record.Crash, Segments: []record.Segment{{Name: "log.0", Bytes: 5}}})
	born := birth(1)
	born.APIVersion, born.Kind = record.APIVersion, record.KindBirth
	bornJSON, _ := json.Marshal(born)
	f.Add(meta, bornJSON, []byte(`{"apiVersion":"nodekeeper.io/v1alpha1","kind":"Capture","segments":[{"name":"log.0","bytes":9}],"gaps":[{"before":1,"bytes":3}]}`), []byte("{}"), []byte(`{"kube-system_etcd-0/etcd":{"podUID":"x","series":{"index":9}}}`), []byte(`[{"name":"log.0","size":1}]`))
	f.Add([]byte("{"), []byte(""), []byte("null"), []byte("[]"), []byte("null"), []byte("null"))
	f.Add(meta, bornJSON, meta, []byte(`{"target":"meta.json","place":["log.1"]}`), []byte("7"), []byte("{}"))
	f.Fuzz(func(t *testing.T, meta, birthJSON, capture, planJSON, counters, copies []byte) {
		s := newScene(t)
		dir := filepath.Join(s.opts.Root, "kube-system_etcd-0", "etcd", "20261130T090000Z-1a2b3c4d-0")
		live := filepath.Join(s.opts.Root, record.LivePath(birth(1).ContainerID))
		must(t, os.MkdirAll(dir, 0o700))
		must(t, os.MkdirAll(live, 0o700))
		for path, data := range map[string][]byte{
			filepath.Join(dir, record.MetaFile):      meta,
			filepath.Join(live, record.BirthFile):    birthJSON,
			filepath.Join(live, record.CaptureFile):  capture,
			filepath.Join(live, bodyFile):            capture,
			filepath.Join(s.opts.Root, countersFile): counters,
			filepath.Join(live, copiesFile):          copies,
			filepath.Join(s.opts.Root, "index.json"): meta,
			filepath.Join(dir, "log.0"):              []byte("first"),
			filepath.Join(live, "log.0"):             []byte("second"),
		} {
			must(t, os.WriteFile(path, data, 0o600))
		}
		// A second name, as the kubelet has one: copies are cut otherwise.
		must(t, os.Link(filepath.Join(live, "log.0"), filepath.Join(s.opts.Root, "second")))
		var p plan
		if json.Unmarshal(planJSON, &p) == nil && len(p.Drop) == 0 {
			must(t, os.WriteFile(filepath.Join(live, planFile), planJSON, 0o600))
		}
		s.pass(2 * strangersAge)
		st, err := Open(s.opts)
		if err != nil {
			t.Fatal(err)
		}
		must(t, st.Flush())
		must(t, st.Close())
		found := map[string]int{}
		must(t, filepath.WalkDir(s.opts.Root, func(path string, d os.DirEntry, err error) error {
			if err == nil && strings.HasPrefix(d.Name(), "log.") {
				found[read(t, path)]++
			}
			return err
		}))
		if found["first"] != 1 || found["second"] != 1 {
			t.Errorf("logs left: %v", found)
		}
	})
}

func FuzzStamps(f *testing.F) {
	f.Add([]byte(line(1) + line(2)))
	f.Add([]byte("\x00\x00\n2026-11-30T09:00:00Z"))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "log.0"), data, 0o600))
		must(t, os.WriteFile(filepath.Join(dir, "log.1.gz"), data, 0o600))
		stamps(dir, []record.Segment{{Name: "log.0"}, {Name: "log.1.gz"}})
	})
}

// An index is a cache: what stands in its place does not keep records from
// being made.
func TestADirectoryInThePlaceOfAnIndexIsPutAway(t *testing.T) {
	s := newScene(t)
	must(t, os.MkdirAll(filepath.Join(s.opts.Root, record.IndexFile, "x"), 0o700))
	st := s.open()
	e := s.crashes(st, 0, line(0))
	index := filepath.Join(s.opts.Root, e.Path, "..", record.IndexFile)
	must(t, os.Remove(index))
	must(t, os.Mkdir(index, 0o700))
	s.crashes(st, 1, line(1))
	for _, path := range []string{index, filepath.Join(s.opts.Root, record.IndexFile)} {
		var x record.Index
		if err := record.Decode([]byte(read(t, path)), &x); err != nil || len(x.Records) != 2 {
			t.Errorf("%s: %d records, %v", path, len(x.Records), err)
		}
	}
}
