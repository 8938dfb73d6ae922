package store

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// Environment of a child process, which runs one scenario and ends itself by
// SIGKILL at one step. With no step it prints the steps.
const (
	scenarioVar = "STORE_TEST_SCENARIO"
	dirVar      = "STORE_TEST_DIR"
	podsVar     = "STORE_TEST_PODS"
	stepVar     = "STORE_TEST_STEP"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(scenarioVar); name != "" {
		t := &childT{}
		child(t, name)
		os.Exit(t.code)
	}
	os.Exit(m.Run())
}

// childT lets the scene work in a process that is no test.
type childT struct {
	testing.TB
	code int
}

func (t *childT) Helper()        {}
func (t *childT) Cleanup(func()) {}
func (t *childT) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, args...)
	os.Exit(1)
}

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

func child(t *childT, name string) {
	sc, stop := scenarios[name], os.Getenv(stepVar)
	s := newSceneAt(t, os.Getenv(podsVar), os.Getenv(dirVar))
	if sc.retention != nil {
		sc.retention(&s.opts.Retention)
	}
	armed, seen := false, map[string]int{}
	s.opts.Step = func(step string) {
		if !armed {
			return
		}
		seen[step]++
		step = fmt.Sprintf("%s#%d", step, seen[step])
		fmt.Println(step)
		if step == stop {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	st, err := Open(s.opts)
	must(t, err)
	sc.before(s, st)
	armed = true
	sc.act(s, st)
}

func runChild(t *testing.T, name, pods, dir, step string) (steps []string, killed bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), scenarioVar+"="+name, podsVar+"="+pods, dirVar+"="+dir, stepVar+"="+step)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if err != nil && !status.Signaled() {
		t.Fatalf("child: %v: %s", err, stderr.String())
	}
	return strings.Fields(string(out)), status.Signaled()
}

// Whatever the step at which a process ends, the next one finds each attempt
// once, live or recorded, and of its log all that is not declared as missing.
func TestKilledAtEveryStep(t *testing.T) {
	for name, sc := range scenarios {
		t.Run(name, func(t *testing.T) {
			steps, _ := runChild(t, name, sc.pods(t), quickDir(t), "")
			if len(steps) < 2 {
				t.Fatalf("steps %v", steps)
			}
			for _, step := range steps {
				pods, dir := sc.pods(t), quickDir(t)
				if _, killed := runChild(t, name, pods, dir, step); !killed {
					t.Fatalf("%s: not reached again", step)
				}
				s := newSceneAt(t, pods, dir)
				if sc.retention != nil {
					sc.retention(&s.opts.Retention)
				}
				s.pass(2 * time.Hour)
				// Twice: what was repaired stays so.
				for range 2 {
					st := s.open()
					s.look(st)
					for problem := range s.problems(st, sc) {
						t.Errorf("killed at %s: %s", step, problem)
					}
					must(t, st.Close())
				}
			}
		})
	}
}

// look does what the agent does at its start: it links the logs that are there.
func (s *scene) look(st *Store) {
	s.t.Helper()
	if _, err := os.Lstat(s.logPath(0)); err != nil {
		return
	}
	if _, recorded := st.Find(birth(0).ContainerID); !recorded {
		s.begin(st, 0)
	}
}

// problems are what is wrong with a root.
func (s *scene) problems(st *Store, sc scenario) map[string]bool {
	out := map[string]bool{}
	x := st.Index()
	found := map[int]int{}
	for _, e := range x.Records {
		n := int(e.Attempt.Attempt)
		found[n]++
		if err := sameText(s.opts.Root+"/"+e.Path, e.Segments, e.Gaps, sc.texts[n]); err != nil {
			out[fmt.Sprintf("record %s: %v", e.Path, err)] = true
		}
	}
	for _, l := range x.Live {
		n := int(l.Attempt.Attempt)
		found[n]++
		if err := sameText(s.opts.Root+"/"+l.Path, l.Segments, l.Gaps, sc.texts[n]); err != nil {
			out[fmt.Sprintf("live %s: %v", l.Path, err)] = true
		}
	}
	for n := range sc.texts {
		if found[n] != 1 && (found[n] != 0 || !slices.Contains(sc.mayGo, n)) {
			out[fmt.Sprintf("attempt %d found %d times", n, found[n])] = true
		}
	}
	var left []string
	_ = filepath.WalkDir(s.opts.Root, func(path string, d os.DirEntry, _ error) error {
		if d != nil && unfinished(d.Name()) {
			left = append(left, path)
		}
		return nil
	})
	if len(left) > 0 {
		out[fmt.Sprintf("left over: %v", left)] = true
	}
	if _, err := os.Lstat(filepath.Join(s.opts.Root, record.QuarantineDir)); err == nil {
		out["something is in the quarantine: "+s.log.String()] = true
	}
	return out
}

// sameText compares a stored log with what was written: all of it, less the
// gaps.
func sameText(dir string, segs []record.Segment, gaps []record.Gap, want string) error {
	at := 0
	skip := func(g record.Gap) error {
		if g.Bytes < 0 || at+int(g.Bytes) > len(want) {
			return fmt.Errorf("gap %+v at %d of %d", g, at, len(want))
		}
		at += int(g.Bytes)
		return nil
	}
	for i := 0; i <= len(segs); i++ {
		body, done := "", int64(0)
		if i < len(segs) {
			var err error
			if body, err = segmentText(filepath.Join(dir, segs[i].Name)); err != nil {
				return err
			}
			if int64(len(body)) != segs[i].Bytes {
				return fmt.Errorf("%s has %d bytes, said to have %d", segs[i].Name, len(body), segs[i].Bytes)
			}
		}
		compare := func(to int64) error {
			piece := body[done:to]
			if !strings.HasPrefix(want[at:], piece) {
				return fmt.Errorf("segment %d differs at %d", i, done)
			}
			at, done = at+len(piece), to
			return nil
		}
		for _, g := range gaps {
			if g.Before != i {
				continue
			}
			if err := compare(g.Offset); err != nil {
				return err
			}
			if err := skip(g); err != nil {
				return err
			}
		}
		if err := compare(int64(len(body))); err != nil {
			return err
		}
	}
	if at != len(want) {
		return fmt.Errorf("%d bytes, want %d", at, len(want))
	}
	return nil
}

func segmentText(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			return "", err
		}
	}
	data, err := io.ReadAll(r)
	return string(data), err
}
