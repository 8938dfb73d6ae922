package store

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/retention"
)

// crowd is a root with n records of n/10 containers.
func crowd(t testing.TB, n int) (*scene, *Store) {
	dir := t.TempDir() // a disk, where fsync costs what it costs
	s := newSceneAt(t, dir, dir)
	st := s.open()
	for i := range n {
		s.crowdOne(st, i)
	}
	return s, st
}

func (s *scene) crowdOne(st *Store, i int) {
	s.t.Helper()
	s.writes(i, line(i))
	b := birth(i)
	b.Container = fmt.Sprintf("container-%d", i/10)
	b.LogPath = s.logPath(i)
	l, err := st.Begin(b)
	must(s.t, err)
	s.link(l, i)
	s.pass(10 * time.Second)
	s.publish(st, l, 10*time.Second)
	must(s.t, os.Remove(s.logPath(i)))
}

// The store keeps facts in memory, not logs: 500 captures of 1 MiB cost no
// more than 500 of a line would.
func TestMemoryDoesNotGrowWithTheLogs(t *testing.T) {
	s := newScene(t)
	st := s.open()
	log := filepath.Join(filepath.Dir(s.pods), "log")
	must(t, os.WriteFile(log, []byte(text(1<<20)), 0o640))
	must(t, os.MkdirAll(filepath.Dir(s.logPath(0)), 0o755))
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	const records = 500
	for n := range records {
		must(t, os.Link(log, s.logPath(n)))
		s.publish(st, s.begin(st, n), 10*time.Second)
		if n >= 7 {
			must(t, st.evict(st.byID[birth(n-5).ContainerID], retention.ForRecords))
		}
	}
	grown := heap() - before
	t.Logf("heap grew by %d bytes in %d captures of 1 MiB", grown, records)
	if grown > 4<<20 {
		t.Errorf("heap grew by %d bytes", grown)
	}
}

func BenchmarkOpenWith500Records(b *testing.B) {
	s, st := crowd(b, 500)
	must(b, st.Close())
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		st, err := Open(s.opts)
		must(b, err)
		must(b, st.Close())
	}
}

func BenchmarkRecordAmong500(b *testing.B) {
	s, st := crowd(b, 500)
	b.ReportAllocs()
	n := 500
	for b.Loop() {
		s.crowdOne(st, n)
		must(b, st.evict(st.byID[birth(n).ContainerID], retention.ForUse))
		n++
	}
}

func BenchmarkTendWith500Records(b *testing.B) {
	s, st := crowd(b, 500)
	_ = s
	b.ReportAllocs()
	for b.Loop() {
		must(b, st.Tend(b.Context()))
	}
}

// What the disk is asked to write while the kubelet still has the log: nothing
// of the log, and some facts.
func BenchmarkWrittenPerCapturedMiB(b *testing.B) {
	const mib = 64
	one := text(mib << 20)
	var written, log int64
	for n := range b.N {
		s := newScene(b)
		st := s.open()
		s.writes(n, one)
		before := writtenSoFar(b)
		l := s.begin(st, n)
		e := s.publish(st, l, time.Second)
		written += writtenSoFar(b) - before
		log += logBytes(filepath.Join(s.opts.Root, e.Path), e.Segments)
		must(b, st.Close())
	}
	b.ReportMetric(float64(written)/float64(b.N*mib), "factB/MiB")
	b.ReportMetric(float64(log)/float64(b.N*mib), "logB/MiB")
}

// writtenSoFar is what this process has given to write(2).
func writtenSoFar(b *testing.B) int64 {
	b.Helper()
	data, err := os.ReadFile("/proc/self/io")
	must(b, err)
	for l := range bytes.Lines(data) {
		var n int64
		if _, err := fmt.Sscanf(strings.TrimSpace(string(l)), "wchar: %d", &n); err == nil {
			return n
		}
	}
	b.Fatal("no wchar in /proc/self/io")
	return 0
}
