package store

import (
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// scenario is work that may end at any step.
type scenario struct {
	retention func(*config.Retention)
	// before runs without being interrupted.
	before func(*scene, *Store)
	act    func(*scene, *Store)
	// texts is what attempts wrote, by attempt.
	texts map[int]string
	// mayGo are attempts that may be evicted.
	mayGo []int
	// elsewhere puts the pods' logs on another file system, if there is one.
	elsewhere bool
}

func (sc *scenario) pods(t *testing.T) string {
	t.Helper()
	if sc.elsewhere {
		return t.TempDir()
	}
	return quickDir(t)
}

var big = text(300 << 10)

var scenarios = map[string]scenario{
	"an attempt from birth to record": {
		before: func(s *scene, _ *Store) { s.writes(0, line(1)) },
		act: func(s *scene, st *Store) {
			l := s.begin(st, 0)
			s.publish(st, l, 10*time.Second)
		},
		texts: map[int]string{0: line(1)},
	},
	"a rotation, compressed by the kubelet": {
		before: func(s *scene, st *Store) {
			s.writes(0, line(1))
			s.begin(st, 0)
			rotated := s.logPath(0) + ".20261130-090000"
			must(s.t, os.Rename(s.logPath(0), rotated))
			s.writes(0, line(2))
			zip(s.t, rotated)
		},
		act: func(s *scene, st *Store) {
			l := st.Lives()[0]
			s.link(l, 0)
			rotated := s.logPath(0) + ".20261130-090000"
			must(s.t, l.Rotated(0, filepath.Base(rotated)))
			must(s.t, l.AdoptGzip(0, s.source(rotated+".gz")))
			s.publish(st, l, 10*time.Second)
		},
		texts: map[int]string{0: line(1) + line(2)},
	},
	"the middle of a running attempt goes": {
		retention: func(r *config.Retention) { r.MaxBytesPerRecord, r.Head = "256Ki", "16Ki" },
		before: func(s *scene, st *Store) {
			s.begin3(st)
		},
		act: func(s *scene, st *Store) {
			must(s.t, st.Lives()[0].Prune(context.Background()))
		},
		texts: map[int]string{0: big + big + line(3)},
	},
	"a record is evicted": {
		retention: func(r *config.Retention) { r.First, r.Last = 1, 1 },
		before: func(s *scene, st *Store) {
			for n := range 3 {
				s.crashes(st, n, line(n))
			}
		},
		act:   func(s *scene, st *Store) { must(s.t, st.Tend(context.Background())) },
		texts: map[int]string{0: line(0), 1: line(1), 2: line(2)},
		mayGo: []int{1},
	},
	"a record is compressed": {
		before: func(s *scene, st *Store) {
			s.crashes(st, 0, big)
			s.pass(time.Hour)
		},
		act:   func(s *scene, st *Store) { must(s.t, st.Tend(context.Background())) },
		texts: map[int]string{0: big},
	},
	"a compressed record is cut": {
		before: func(s *scene, st *Store) {
			s.crashes(st, 0, big+big+big+big)
			s.pass(time.Hour)
			must(s.t, st.Tend(context.Background()))
		},
		act: func(s *scene, st *Store) {
			for _, k := range st.records {
				must(s.t, st.shrinkRecord(k, metaOnly))
			}
		},
		texts: map[int]string{0: big + big + big + big},
	},
	"a record is cut": {
		before: func(s *scene, st *Store) { s.crashes(st, 0, big+big) },
		act: func(s *scene, st *Store) {
			for _, k := range st.records {
				must(s.t, st.shrinkRecord(k, tailOnly))
			}
		},
		texts: map[int]string{0: big + big},
	},
	"a log is copied, and what comes after": {
		elsewhere: true,
		before: func(s *scene, st *Store) {
			s.writes(0, line(0))
			s.begin(st, 0)
			s.writes(0, line(1)+line(2))
		},
		act: func(s *scene, st *Store) {
			s.begin(st, 0)
			s.publish(st, st.Lives()[0], 10*time.Second)
		},
		texts: map[int]string{0: line(0) + line(1) + line(2)},
	},
	"a log is copied for the first time": {
		elsewhere: true,
		before:    func(s *scene, _ *Store) { s.writes(0, line(0)) },
		act:       func(s *scene, st *Store) { s.begin(st, 0) },
		texts:     map[int]string{0: line(0)},
	},
	"a record is put on hold": {
		before: func(s *scene, st *Store) { s.crashes(st, 0, line(0)) },
		act: func(s *scene, st *Store) {
			for path := range st.records {
				must(s.t, st.Hold(path, "a support case"))
			}
		},
		texts: map[int]string{0: line(0)},
	},
}

func (s *scene) publish(st *Store, l *Live, run time.Duration) record.Entry {
	s.t.Helper()
	e, err := st.Publish(l, s.meta(run))
	must(s.t, err)
	return e
}

// begin3 makes attempt 0 live with three segments, of which the kubelet has the
// last.
func (s *scene) begin3(st *Store) *Live {
	s.t.Helper()
	s.writes(0, big)
	l := s.begin(st, 0)
	for _, next := range []string{big, line(3)} {
		must(s.t, os.Remove(s.logPath(0)))
		s.writes(0, next)
		s.link(l, 0)
	}
	return l
}

// zip is what the kubelet does to a rotated log.
func zip(t testing.TB, path string) {
	t.Helper()
	out, err := os.Create(path + ".gz")
	must(t, err)
	z := gzip.NewWriter(out)
	_, err = io.WriteString(z, read(t, path))
	must(t, err)
	must(t, z.Close())
	must(t, out.Close())
	must(t, os.Remove(path))
}
