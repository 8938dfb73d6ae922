package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

func TestARecordHasTheLogAndTheFacts(t *testing.T) {
	s := newScene(t)
	st := s.open()
	e := s.crashes(st, 7, line(1)+line(2))

	if want := "kube-system_etcd-0/etcd/20261130T090000Z-1a2b3c4d-7"; e.Path != want {
		t.Errorf("path %s, want %s", e.Path, want)
	}
	if got := read(t, filepath.Join(s.opts.Root, e.Path, "log.0")); got != line(1)+line(2) {
		t.Errorf("log %q", got)
	}
	if !e.Complete() || e.Meta.Bytes() != int64(len(line(1)+line(2))) || e.Series.Index != 1 || e.Node != "node-1" || e.BootID != "boot-1" {
		t.Errorf("record %+v", e)
	}
	if e.FirstRecord == nil || e.LastRecord == nil || e.FirstRecord.Second() != 1 || e.LastRecord.Second() != 2 {
		t.Errorf("first record %v, last %v", e.FirstRecord, e.LastRecord)
	}
	for _, dir := range []string{"", "kube-system_etcd-0", "kube-system_etcd-0/etcd"} {
		var x record.Index
		must(t, record.Decode([]byte(read(t, filepath.Join(s.opts.Root, dir, record.IndexFile))), &x))
		if len(x.Records) != 1 || x.Records[0].Path != e.Path || len(x.Live) != 0 {
			t.Errorf("index of %q: %+v", dir, x)
		}
	}
	entries, err := os.ReadDir(filepath.Join(s.opts.Root, e.Path))
	if err != nil || len(entries) != 2 {
		t.Errorf("files %v, %v", entries, err)
	}
}

func TestPublishingAgainGivesTheSameRecord(t *testing.T) {
	s := newScene(t)
	st := s.open()
	s.writes(0, line(1))
	l := s.begin(st, 0)
	first, err := st.Publish(l, s.meta(time.Second))
	must(t, err)
	again, err := st.Publish(l, s.meta(time.Minute))
	if err != nil || again.Path != first.Path {
		t.Errorf("second record %s, error %v", again.Path, err)
	}
	if _, err := st.Begin(birth(0)); !errors.Is(err, ErrRecorded) {
		t.Errorf("begin again: %v", err)
	}
	if err := l.Refresh(); !errors.Is(err, ErrRecorded) {
		t.Errorf("a published attempt is live: %v", err)
	}
}

func TestASeriesGoesOnUntilALongRun(t *testing.T) {
	s := newScene(t)
	st := s.open()
	for n, want := range []int{1, 2, 3} {
		if e := s.crashes(st, n, line(n)); e.Series.Index != want {
			t.Errorf("attempt %d: series index %d, want %d", n, e.Series.Index, want)
		}
	}
	s.writes(3, line(3))
	l := s.begin(st, 3)
	s.pass(time.Hour)
	e, err := st.Publish(l, s.meta(time.Hour))
	if err != nil || e.Series.Index != 1 || !e.Series.Began.Equal(*e.Started) {
		t.Errorf("after an hour: %+v, %v", e.Series, err)
	}
}

func TestRecordsOfOneSecondHaveNamesOfTheirOwn(t *testing.T) {
	s := newScene(t)
	st := s.open()
	paths := map[string]bool{}
	started := s.time()
	for n := range 3 {
		s.writes(n, line(n))
		l := s.begin(st, n)
		m := s.meta(0)
		m.Started = &started
		l.birth.Attempt.Attempt = 0 // as after a reboot that lost the count
		e, err := st.Publish(l, m)
		must(t, err)
		paths[filepath.Base(e.Path)] = true
		s.pass(-time.Hour) // the clock is set back
	}
	for _, want := range []string{"20261130T090000Z-1a2b3c4d-0", "20261130T090000Z-1a2b3c4d-0-2", "20261130T090000Z-1a2b3c4d-0-3"} {
		if !paths[want] {
			t.Errorf("no %s in %v", want, paths)
		}
	}
	st = s.open()
	if n := len(st.Index().Records); n != 3 {
		t.Errorf("%d records after opening again", n)
	}
}
