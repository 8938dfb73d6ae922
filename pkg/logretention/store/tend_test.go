package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/retention"
)

func TestALoopOfEightCrashesKeepsTheFirstTwoAndTheLastFive(t *testing.T) {
	s := newScene(t)
	st := s.open()
	for n := range 8 {
		s.crashes(st, n, line(n))
		must(t, st.Tend(context.Background()))
	}
	x := st.Index()
	var got []uint32
	for _, e := range x.Records {
		got = append(got, e.Attempt.Attempt)
		if text := read(t, filepath.Join(s.opts.Root, e.Path, "log.0")); text != line(int(e.Attempt.Attempt)) {
			t.Errorf("attempt %d: log %q", e.Attempt.Attempt, text)
		}
	}
	if fmt.Sprint(got) != "[0 1 3 4 5 6 7]" || x.Dropped["kube-system_etcd-0/etcd"] != 1 || x.Records[6].Series.Index != 8 {
		t.Errorf("kept %v, dropped %v, series %+v", got, x.Dropped, x.Records[6].Series)
	}
	must(t, st.Close())
	if again := s.open().Index(); len(again.Records) != 7 || again.Dropped["kube-system_etcd-0/etcd"] != 1 {
		t.Errorf("after opening again: %d records, dropped %v", len(again.Records), again.Dropped)
	}
}

func TestAnEvictedContainerLeavesNothing(t *testing.T) {
	s := newScene(t)
	st := s.open()
	s.crashes(st, 0, line(0))
	must(t, os.Mkdir(filepath.Join(s.opts.Root, "acts"), 0o700))
	s.pass(15 * 24 * time.Hour)
	must(t, st.Tend(context.Background()))
	entries, err := os.ReadDir(s.opts.Root)
	must(t, err)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && e.Name() != "acts" && e.Name() != record.IndexFile {
			t.Errorf("%s is left", e.Name())
		}
	}
	if u := st.Usage(); u.Evicted == 0 || u.Evictions[retention.ForAge] != u.Evicted {
		t.Errorf("%d evicted, %v", u.Evicted, u.Evictions)
	}
}

func TestCompressionKeepsTheText(t *testing.T) {
	s := newScene(t)
	st := s.open()
	e := s.crashes(st, 0, big)
	must(t, st.Tend(context.Background()))
	if got, _ := st.Find(e.ContainerID); got.Segments[0].Compressed() {
		t.Error("compressed at once")
	}
	before := st.Usage().Bytes
	s.pass(time.Hour)
	must(t, st.Tend(context.Background()))
	got, _ := st.Find(e.ContainerID)
	if !got.Segments[0].Compressed() || got.Segments[0].Bytes != int64(len(big)) {
		t.Fatalf("segments %+v", got.Segments)
	}
	if err := sameText(filepath.Join(s.opts.Root, e.Path), got.Segments, got.Gaps, big); err != nil {
		t.Error(err)
	}
	if after := st.Usage().Bytes; after >= before {
		t.Errorf("%d bytes before, %d after", before, after)
	}
}

// A terabyte of holes, which anybody can make who may write to the pod logs, is
// not read to be compressed.
func TestAHollowFileIsNotCompressed(t *testing.T) {
	s := newScene(t)
	st := s.open()
	s.writes(0, line(0))
	must(t, os.Truncate(s.logPath(0), 1<<40))
	l := s.begin(st, 0)
	e := s.publish(st, l, time.Second)
	must(t, os.Remove(s.logPath(0)))
	s.pass(time.Hour)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	must(t, st.Tend(ctx))
	if got, _ := st.Find(e.ContainerID); len(got.Segments) != 1 || got.Segments[0].Compressed() {
		t.Errorf("segments %+v", got.Segments)
	}
}

// A log that the kubelet still has is not compressed: that would cost space.
func TestALogThatTheKubeletHasIsLeftAlone(t *testing.T) {
	s := newScene(t)
	st := s.open()
	s.writes(0, big)
	e := s.publish(st, s.begin(st, 0), time.Second)
	s.pass(time.Hour)
	must(t, st.Tend(context.Background()))
	if got, _ := st.Find(e.ContainerID); got.Segments[0].Compressed() {
		t.Error("compressed")
	}
	if info, err := os.Stat(s.logPath(0)); err != nil || info.Mode().Perm() != 0o640 || read(t, s.logPath(0)) != big {
		t.Errorf("the kubelet's file is %v, %v", info.Mode(), err)
	}
}

func TestTendEndsWithItsContext(t *testing.T) {
	s := newScene(t)
	s.opts.Retention.Last, s.opts.Retention.First = 1, 0
	st := s.open()
	for n := range 3 {
		s.crashes(st, n, line(n))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := st.Tend(ctx); !errors.Is(err, context.Canceled) || len(st.Index().Records) != 3 {
		t.Errorf("error %v, %d records", err, len(st.Index().Records))
	}
}

func TestAHoldByAnotherProcessHolds(t *testing.T) {
	s := newScene(t)
	s.opts.Retention.Last, s.opts.Retention.First = 1, 0
	st := s.open()
	e := s.crashes(st, 0, line(0))

	other, err := OpenForUpdate(s.opts.Root)
	must(t, err)
	must(t, other.Hold(e.Path, "case 4711"))
	must(t, other.Hold(e.Path, "")) // again, by somebody without a reason
	for _, dir := range []string{"", "kube-system_etcd-0", "kube-system_etcd-0/etcd"} {
		var x record.Index
		must(t, record.Decode([]byte(read(t, filepath.Join(s.opts.Root, dir, record.IndexFile))), &x))
		if len(x.Records) != 1 || x.Records[0].Hold == nil {
			t.Errorf("index of %q at once: %+v", dir, x.Records)
		}
	}
	if err := other.Hold("kube-system_etcd-0/etcd/20261130T090000Z-1a2b3c4d-99", ""); !errors.Is(err, ErrNoRecord) {
		t.Errorf("no such record: %v", err)
	}
	for _, path := range []string{"", "..", "../../etc/20261130T090000Z-1a2b3c4d-9", ".live/x/20261130T090000Z-1a2b3c4d-9"} {
		if err := other.Release(path); !errors.Is(err, ErrNoRecord) {
			t.Errorf("%q: %v", path, err)
		}
	}

	s.crashes(st, 1, line(1))
	s.crashes(st, 2, line(2))
	must(t, st.Tend(context.Background()))
	got, ok := st.Find(e.ContainerID)
	if !ok || got.Hold == nil || got.Hold.Reason != "case 4711" {
		t.Fatalf("record %+v", got)
	}
	var x record.Index
	must(t, record.Decode([]byte(read(t, filepath.Join(s.opts.Root, record.IndexFile))), &x))
	if len(x.Records) != 2 || x.Records[0].Hold == nil {
		t.Errorf("index %+v", x.Records)
	}
	must(t, other.Release(e.Path))
	must(t, other.Close())
	must(t, st.Tend(context.Background()))
	if _, ok := st.Find(e.ContainerID); ok {
		t.Error("the record outlived its hold")
	}
}

func TestTwoProcessesDoNotWorkAtOnce(t *testing.T) {
	s := newScene(t)
	st := s.open()
	e := s.crashes(st, 0, line(0))
	other, err := OpenForUpdate(s.opts.Root)
	must(t, err)
	t.Cleanup(func() { _ = other.Close() })
	_, err = st.lock.acquire()
	must(t, err)
	done := make(chan error, 1)
	go func() { done <- other.Hold(e.Path, "") }()
	select {
	case err := <-done:
		t.Fatalf("not waited: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	st.lock.release()
	select {
	case err := <-done:
		must(t, err)
	case <-time.After(lockWait):
		t.Fatal("never got the lock")
	}
}

func TestAnUpdateCannotChangeWhatARecordIs(t *testing.T) {
	s := newScene(t)
	st := s.open()
	e := s.crashes(st, 0, line(0))
	must(t, st.Update(e.Path, func(m *record.Meta) {
		m.Acts, m.ContainerID, m.Segments = []string{"act-1"}, "other", nil
	}))
	got, ok := st.Find(e.ContainerID)
	if !ok || len(got.Acts) != 1 || len(got.Segments) != 1 {
		t.Errorf("record %+v", got)
	}
	if err := st.Update(e.Path, func(m *record.Meta) { m.Class = "no such class" }); err == nil {
		t.Error("a record was made that nobody can read")
	}
}
