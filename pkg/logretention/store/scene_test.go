package store

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/safelink"
)

// scene is a node's disk: the kubelet's pod logs and the record root.
type scene struct {
	t    testing.TB
	pods string
	opts Options
	log  *lines

	clock *clock
}

// clock is set by hand.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

// lines is what was logged.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newScene(t testing.TB) *scene {
	t.Helper()
	dir := quickDir(t)
	return newSceneAt(t, dir, dir)
}

// quickDir is a directory in memory, if there is such: thousands of fsyncs take
// minutes on a disk.
func quickDir(t testing.TB) string {
	t.Helper()
	const memory = "/dev/shm"
	if _, err := os.Stat(memory); err != nil {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(memory, "nodekeeper-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	return dir
}

func newSceneAt(t testing.TB, pods, top string) *scene {
	t.Helper()
	s := &scene{t: t, pods: filepath.Join(pods, "pods"), log: &lines{}, clock: &clock{now: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)}}
	s.opts = Options{
		Root: filepath.Join(top, "nodekeeper"), Node: "node-1", BootID: "boot-1",
		Retention: roomy(), Now: s.time, Log: slog.New(slog.NewTextHandler(s.log, nil)),
	}
	return s
}

// roomy are the defaults, for a test's disk that may be almost full.
func roomy() config.Retention {
	r := config.Default().Logs.Retention
	r.KeepFreePercent = 0
	return r
}

func (s *scene) time() time.Time {
	s.clock.mu.Lock()
	defer s.clock.mu.Unlock()
	return s.clock.now
}

func (s *scene) pass(d time.Duration) {
	s.clock.mu.Lock()
	defer s.clock.mu.Unlock()
	s.clock.now = s.clock.now.Add(d)
}

func (s *scene) open() *Store {
	s.t.Helper()
	st, err := Open(s.opts)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = st.Close() })
	return st
}

// birth is attempt n of container etcd.
func birth(n int) record.Birth {
	return record.Birth{
		Attempt: record.Attempt{
			Namespace: "kube-system", Pod: "etcd-0", PodUID: "1a2b3c4d5e", Container: "etcd",
			Attempt: uint32(n), ContainerID: fmt.Sprintf("%064x", n+1),
		},
		By: record.SourceScan,
	}
}

// logPath is the kubelet's log file of attempt n.
func (s *scene) logPath(n int) string {
	return filepath.Join(s.pods, "kube-system_etcd-0_1a2b3c4d5e", "etcd", fmt.Sprintf("%d.log", n))
}

// writes makes attempt n write text.
func (s *scene) writes(n int, text string) {
	s.t.Helper()
	path := s.logPath(n)
	must(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640)
	must(s.t, err)
	_, err = f.WriteString(text)
	must(s.t, err)
	must(s.t, f.Close())
}

func (s *scene) source(path string) *safelink.Source {
	s.t.Helper()
	src, err := safelink.Open(path)
	must(s.t, err)
	s.t.Cleanup(func() { _ = src.Close() })
	return src
}

// begin makes attempt n live, its log linked.
func (s *scene) begin(st *Store, n int) *Live {
	s.t.Helper()
	b := birth(n)
	b.LogPath = s.logPath(n)
	l, err := st.Begin(b)
	must(s.t, err)
	s.link(l, n)
	return l
}

func (s *scene) link(l *Live, n int) int {
	s.t.Helper()
	src, err := safelink.Open(s.logPath(n))
	must(s.t, err)
	defer src.Close()
	i, err := l.AddLink(src)
	must(s.t, err)
	return i
}

// meta is how an attempt ended, after so long a run, now.
func (s *scene) meta(run time.Duration) record.Meta {
	started, finished := s.time().Add(-run), s.time()
	code := int32(1)
	return record.Meta{Class: record.Crash, Started: &started, Finished: &finished, ExitCode: &code, ExitKnownFrom: record.SourceCRI}
}

// crashes is a whole attempt: a log, a run of 10 s, a record. The kubelet
// removes the log afterwards.
func (s *scene) crashes(st *Store, n int, text string) record.Entry {
	s.t.Helper()
	s.writes(n, text)
	l := s.begin(st, n)
	s.pass(10 * time.Second)
	e, err := st.Publish(l, s.meta(10*time.Second))
	must(s.t, err)
	must(s.t, os.Remove(s.logPath(n)))
	return e
}

// line is one log record.
func line(n int) string {
	return fmt.Sprintf("2026-11-30T09:%02d:%02d.%09dZ stdout F line %d\n", n/60%60, n%60, n, n)
}

// text is so many bytes of log records, at least.
func text(size int) string {
	var b strings.Builder
	for n := 0; b.Len() < size; n++ {
		b.WriteString(line(n))
	}
	return b.String()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}
