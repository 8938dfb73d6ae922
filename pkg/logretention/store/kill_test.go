package store

import (
	"compress/gzip"
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
