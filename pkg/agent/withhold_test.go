package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/history"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/journal"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/pause"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

func TestAPauseHoldsAndEndsByItself(t *testing.T) {
	s := stage(t)
	p, err := pause.For(10*time.Minute, "etcd restore", "boot-1", s.now)
	if err != nil {
		t.Fatal(err)
	}
	if err := pause.Set(s.cfg.Directories.State, p); err != nil {
		t.Fatal(err)
	}
	s.node = stale()
	s.watch(10*time.Minute - s.cfg.Interval.Duration)
	s.wantDone()
	if got := s.published().Node.Paused; !strings.Contains(got, "etcd restore") {
		t.Errorf("published %q", got)
	}
	s.watch(s.cfg.Interval.Duration)
	s.wantDone(restartpolicy.StopContainer)
	if s.logged("no acts: paused") != 1 || s.logged("over: paused") != 1 {
		t.Errorf("log:\n%s", s.log.String())
	}
}

func TestResumeEndsAPause(t *testing.T) {
	s := stage(t)
	p, err := pause.For(24*time.Hour, "", "boot-1", s.now)
	if err != nil {
		t.Fatal(err)
	}
	if err := pause.Set(s.cfg.Directories.State, p); err != nil {
		t.Fatal(err)
	}
	s.node = stale()
	s.watch(time.Minute)
	s.wantDone()
	if err := pause.Clear(s.cfg.Directories.State); err != nil {
		t.Fatal(err)
	}
	s.watch(s.cfg.Interval.Duration)
	s.wantDone(restartpolicy.StopContainer)
}

func TestALostJournalHoldsForTheLongestGap(t *testing.T) {
	s := stage(t)
	if err := os.WriteFile(filepath.Join(s.cfg.Directories.State, journal.Name), []byte("rubbish\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.start()
	s.node = stale()
	s.watch(30 * time.Minute)
	s.start() // which does not make it forget
	s.watch(30*time.Minute - 10*time.Second)
	s.wantDone()
	if st := s.published(); !strings.Contains(st.Agent.Withheld, "journal was lost") {
		t.Errorf("withheld %q", st.Agent.Withheld)
	}
	s.watch(20 * time.Second)
	s.wantDone(restartpolicy.StopContainer)
	if s.logged("could not be read", "acts.jsonl") != 1 {
		t.Errorf("log:\n%s", s.log.String())
	}
}

func TestALostHistoryBeginsTheDeadlineAnew(t *testing.T) {
	s := stage(t)
	s.node = stale()
	s.watch(30 * time.Second)
	if err := os.WriteFile(filepath.Join(s.cfg.Directories.Run, history.Name), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.start()
	s.watch(30 * time.Second)
	s.wantDone()
	s.watch(10 * time.Second)
	s.wantDone(restartpolicy.StopContainer)
}

func TestWithoutAJournalThereAreNoActs(t *testing.T) {
	s := stage(t)
	s.node = stale()
	if err := s.journal.Close(); err != nil {
		t.Fatal(err)
	}
	s.watch(2 * time.Minute)
	s.wantDone()
	if got := s.logged("level=WARN", "journal"); got != 1 {
		t.Errorf("%d lines:\n%s", got, s.log.String())
	}
	if st := s.published(); !strings.Contains(st.Agent.Withheld, "cannot be written") {
		t.Errorf("withheld %q", st.Agent.Withheld)
	}
}

func TestTwoAgentsAreOneTooMany(t *testing.T) {
	s := stage(t)
	if _, err := New(s.Options); err == nil || !strings.Contains(err.Error(), "another agent") {
		t.Errorf("error %v", err)
	}
}
