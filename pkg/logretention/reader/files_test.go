package reader

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

func TestLocalOpensNothingButRegularFilesBelowItsRoot(t *testing.T) {
	s := newScene(t)
	s.put("a/log.0", []byte("text"))
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.Symlink(outside, filepath.Join(s.root, "a/log.1")),
		os.Symlink("/dev", filepath.Join(s.root, "dev")),
		syscall.Mkfifo(filepath.Join(s.root, "a/log.2"), 0o600),
		os.Mkdir(filepath.Join(s.root, "a/log.3"), 0o700),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	d := s.files()
	for _, name := range []string{"a/log.1", "a/log.2", "a/log.3", "../x", outside, "dev/zero", "a/none"} {
		if file, err := d.Open(t.Context(), name); err == nil {
			t.Errorf("%s was opened", name)
			file.Close()
		}
	}
	if _, err := d.List(t.Context(), "a/log.2"); err == nil {
		t.Error("a FIFO was listed")
	}
	file, err := d.Open(t.Context(), "a/log.0")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if data, err := io.ReadAll(file); err != nil || string(data) != "text" {
		t.Errorf("%q, error %v", data, err)
	}
	if _, ok := file.(seekable); !ok {
		t.Error("a local file can be sought")
	}
	if _, err := d.Open(t.Context(), "a/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

func TestLoadTakesTheIndex(t *testing.T) {
	s := newScene(t)
	m := meta(1)
	s.putJSON(record.IndexFile, record.Index{APIVersion: record.APIVersion, Kind: record.KindIndex, Node: "node1", Records: []record.Entry{entryOf(m)}})
	for _, files := range []Files{s.files(), remote{s.files()}} {
		index, err := Load(t.Context(), files)
		if err != nil || index.Node != "node1" || len(index.Records) != 1 {
			t.Errorf("%+v, error %v", index, err)
		}
	}
}

// remote hides that files can be listed and sought.
type remote struct{ Files }

func TestLoadSaysWhenThereIsNothing(t *testing.T) {
	s := newScene(t)
	for _, files := range []Files{s.files(), remote{s.files()}} {
		if _, err := Load(t.Context(), files); !errors.Is(err, ErrNoRecords) {
			t.Errorf("error %v", err)
		}
	}
	s.put(record.IndexFile, []byte("{torn"))
	for _, files := range []Files{s.files(), remote{s.files()}} {
		if _, err := Load(t.Context(), files); err == nil || !strings.Contains(err.Error(), "index.json") {
			t.Errorf("error %v", err)
		}
	}
}

func TestLoadTakesAnEmptyIndex(t *testing.T) {
	s := newScene(t)
	s.putJSON(record.IndexFile, record.Index{APIVersion: record.APIVersion, Kind: record.KindIndex})
	if index, err := Load(t.Context(), s.files()); err != nil || len(index.Records) != 0 {
		t.Errorf("%+v, error %v", index, err)
	}
}

func TestLoadMakesUpATornIndexFromTheDirectories(t *testing.T) {
	s := newScene(t)
	s.put(record.IndexFile, []byte("{torn"))
	s.record(2, "b")
	s.record(1, "a")
	s.put(record.PodDir("kube-system", "etcd-node1")+"/etcd/20261130T120000Z-0-9/meta.json", []byte("{}"))
	s.put("acts/x/meta.json", []byte("{}"))
	s.putJSON(record.LivePath("c3")+"/birth.json", birth(3))
	s.put(record.LivePath("c3")+"/log.1", nil)
	s.put(record.LivePath("c3")+"/log.0.gz", nil)
	s.putJSON(record.LivePath("stranger")+"/birth.json", birth(4))
	index, err := Load(t.Context(), s.files())
	if err != nil || len(index.Records) != 2 || len(index.Live) != 1 {
		t.Fatalf("%+v, error %v", index, err)
	}
	if a, b := index.Records[0].Attempt, index.Records[1].Attempt; a.Attempt != 1 || b.Attempt != 2 {
		t.Errorf("attempts %d and %d", a.Attempt, b.Attempt)
	}
	if l := index.Live[0]; len(l.Segments) != 2 || l.Segments[0].Name != "log.0.gz" || l.Segments[1].Name != "log.1" {
		t.Errorf("live %+v", l)
	}
}

// The hook adds attempts, and the agent that would write the index is down.
func TestLoadSeesWhatTheIndexDoesNotKnowYet(t *testing.T) {
	s := newScene(t)
	e := s.record(1, "a")
	s.putJSON(record.IndexFile, record.Index{APIVersion: record.APIVersion, Kind: record.KindIndex, Node: "node1", Records: []record.Entry{e}})
	s.putJSON(record.LivePath("c2")+"/birth.json", birth(2))
	index, err := Load(t.Context(), s.files())
	if err != nil || len(index.Live) != 1 || index.Live[0].ContainerID != "c2" {
		t.Errorf("%+v, error %v", index, err)
	}
}

func TestLoadSeesThatALiveAttemptHasEnded(t *testing.T) {
	s := newScene(t)
	s.record(1, "a")
	s.putJSON(record.IndexFile, record.Index{APIVersion: record.APIVersion, Kind: record.KindIndex, Node: "node1", Live: []record.Live{{Path: record.LivePath("c1"), Birth: birth(1)}}})
	index, err := Load(t.Context(), s.files())
	if err != nil || len(index.Live) != 0 || len(index.Records) != 1 || index.Node != "node1" {
		t.Errorf("%+v, error %v", index, err)
	}
}

// The record is renamed into its place before the capture is removed.
func TestAnAttemptIsNotBothLiveAndRecorded(t *testing.T) {
	s := newScene(t)
	s.record(1, "a")
	s.putJSON(record.LivePath("c1")+"/birth.json", birth(1))
	index, err := Load(t.Context(), s.files())
	if err != nil || len(index.Live) != 0 || len(index.Records) != 1 {
		t.Errorf("%+v, error %v", index, err)
	}
}

// From afar, a capture without capture.json is what the index says, and one that
// the index says nothing about is its first segment.
func TestALiveAttemptIsReadFromAfar(t *testing.T) {
	s := newScene(t)
	dir := record.LivePath("c1")
	s.putJSON(dir+"/birth.json", birth(1))
	s.put(dir+"/log.0", []byte(line(1, "stdout", "F", "one")))
	s.put(dir+"/log.1.gz", []byte(line(2, "stdout", "F", "two")))
	l := record.Live{Path: dir, Birth: birth(1), Segments: []record.Segment{{Name: "log.0"}, {Name: "log.1.gz"}}}
	for want, attempt := range map[string]Attempt{"one\ntwo\n": live(&l), "one\n": live(&record.Live{Path: dir, Birth: birth(1)})} {
		if got := write(t, remote{s.files()}, []Attempt{attempt}, Options{Tail: ptr(int64(5))}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if err := os.Remove(filepath.Join(s.root, dir, "log.0")); err != nil {
		t.Fatal(err)
	}
	s.putJSON(dir+"/capture.json", record.Capture{
		APIVersion: record.APIVersion, Kind: record.KindCapture, Segments: []record.Segment{{Name: "log.1.gz"}},
		Gaps: []record.Gap{{Bytes: 9, Reason: "dropped"}},
	})
	if got := write(t, remote{s.files()}, []Attempt{live(&l)}, Options{}); got != "two\n" {
		t.Errorf("got %q", got)
	}
}

func TestPodLogAttempts(t *testing.T) {
	s := newScene(t)
	for _, name := range []string{
		"kube-system_etcd-node1_old/etcd/7.log",
		"kube-system_etcd-node1_new/etcd/1.log", "kube-system_etcd-node1_new/etcd/1.log.20261130-110000.gz",
		"kube-system_etcd-node1_new/etcd/1.log.20261130-110000", "kube-system_etcd-node1_new/etcd/1.log.20261130-100000.gz",
		"kube-system_etcd-node1_new/etcd/1.log.20261130-120000.gz", "kube-system_etcd-node1_new/etcd/1.log.20261130-120000.gz.tmp",
		"kube-system_etcd-node1_new/etcd/0.log", "kube-system_etcd-node1_new/etcd/1.log.tmp",
		"other_twin_u/a/0.log", "kube-system_twin_u/a/0.log", "kube-system_two_u/a/0.log", "kube-system_two_u/b/0.log",
	} {
		text := line(1, "stdout", "F", filepath.Base(name))
		s.put(name, []byte(text))
	}
	for i, name := range []string{"kube-system_etcd-node1_old/etcd/7.log", "kube-system_etcd-node1_new/etcd/0.log", "kube-system_etcd-node1_new/etcd/1.log"} {
		at := noon.AddDate(1, 0, i)
		if err := os.Chtimes(filepath.Join(s.root, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	attempts, err := PodLogAttempts(s.root, "", "etcd-node1", "")
	if err != nil || len(attempts) != 3 {
		t.Fatalf("%+v, error %v", attempts, err)
	}
	if a := attempts[2]; !a.Live || a.PodUID != "new" || a.Attempt.Attempt != 1 || attempts[1].Live || attempts[0].Attempt.Attempt != 7 {
		t.Errorf("%+v", attempts)
	}
	want := "1.log.20261130-100000.gz\n1.log.20261130-110000\n1.log.20261130-120000.gz\n1.log\n"
	if got := write(t, s.files(), attempts[2:], Options{}); got != want {
		t.Errorf("got %q", got)
	}
	for want, q := range map[string][3]string{
		"pod twin is in namespaces kube-system, other": {"", "twin", ""},
		"pod two has containers a, b: choose with -c":  {"", "two", ""},
		"nothing is kept of container x":               {"", "two", "x"},
		"the kubelet has no log of pod other/two":      {"other", "two", ""},
	} {
		if _, err := PodLogAttempts(s.root, q[0], q[1], q[2]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v", q, err)
		}
	}
}
