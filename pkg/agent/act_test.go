package agent

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/remedy"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

func TestAnActIsAnnouncedDoneReviewedAndHealed(t *testing.T) {
	s := stage(t)
	s.watch(time.Minute)
	s.wantDone()
	s.node = stale()
	s.doing = func(step restartpolicy.Step) remedy.Outcome {
		acts := s.journalled()
		if len(acts) != 1 || acts[0].Result != restartpolicy.ResultStarted || acts[0].Key != step.Key {
			t.Errorf("on disk while it is done: %+v", acts)
		}
		if a := s.published().Agent.Acting; a == nil || a.Step != restartpolicy.StopContainer || a.Pod != etcd.Name || a.AtMostSeconds < 45 {
			t.Errorf("published while it is done: %+v", a)
		}
		s.pass(4 * time.Second)
		s.node = healthy()
		return remedy.Outcome{Result: restartpolicy.ResultDone, Detail: "stopped", Evidence: "/evidence/1"}
	}
	s.watch(2 * time.Minute)
	s.wantDone(restartpolicy.StopContainer)
	acts := s.journalled()
	if len(acts) != 1 || acts[0].Result != restartpolicy.ResultHealed || acts[0].Evidence != "/evidence/1" {
		t.Errorf("journal %+v", acts)
	}
	if s.published().Agent.Acting != nil {
		t.Error("still published as acting")
	}
	if s.logged("msg=act ", "step=stop-container", "result=done") != 1 || s.logged("act reviewed", "result=healed") != 1 {
		t.Errorf("log:\n%s", s.log.String())
	}
}

func TestACrashInMidActUsesUpTheBudget(t *testing.T) {
	s := stage(t)
	s.node = stale()
	s.doing = func(restartpolicy.Step) remedy.Outcome { panic("killed") }
	func() {
		defer func() { _ = recover() }()
		s.watch(time.Minute)
	}()
	s.wantDone(restartpolicy.StopContainer)
	s.doing = func(restartpolicy.Step) remedy.Outcome { return remedy.Outcome{Result: restartpolicy.ResultDone} }

	s.start()
	s.watch(s.cfg.Restart.Steps.StopContainer.Settle.Duration - 10*time.Second)
	s.wantDone(restartpolicy.StopContainer)
	if acts := s.journalled(); len(acts) != 1 || acts[0].Result != restartpolicy.ResultStarted {
		t.Errorf("journal %+v", acts)
	}
	s.watch(time.Hour)
	s.wantDone(restartpolicy.StopContainer)
}

func TestARestartOfTheAgentForgetsNoTry(t *testing.T) {
	s := stage(t)
	s.node = stale()
	s.watch(time.Minute)
	s.wantDone(restartpolicy.StopContainer)
	for range 5 {
		s.start()
		s.watch(30 * time.Second)
	}
	s.wantDone(restartpolicy.StopContainer)
	s.start()
	s.watch(30 * time.Minute)
	s.wantDone(restartpolicy.StopContainer)
	if v := s.published().Verdicts; !v[len(v)-1].Overdue || v[len(v)-1].BlockedBy[0] != "breaker" {
		t.Errorf("published %+v", v)
	}
}

func TestADeadlineSurvivesARestart(t *testing.T) {
	s := stage(t)
	s.node = stale()
	s.watch(20 * time.Second)
	s.start()
	s.watch(15 * time.Second)
	s.wantDone(restartpolicy.StopContainer)
}

func TestNoActAfterBeingToldToStop(t *testing.T) {
	due := func(t *testing.T) *scene {
		s := stage(t)
		s.node = stale()
		s.watch(30 * time.Second)
		s.wantDone()
		return s
	}
	t.Run("during the look", func(t *testing.T) {
		s := due(t)
		ctx, cancel := context.WithCancel(context.Background())
		s.looking = cancel
		s.watchWith(ctx, time.Minute)
		s.wantDone()
		if len(s.journalled()) != 0 {
			t.Errorf("journal %+v", s.journalled())
		}
	})
	t.Run("between plan and act", func(t *testing.T) {
		s := due(t)
		ctx, cancel := context.WithCancel(context.Background())
		s.reading = cancel
		s.watchWith(ctx, time.Minute)
		s.wantDone()
		acts := s.journalled()
		if len(acts) != 1 || acts[0].Result != restartpolicy.ResultRefused {
			t.Errorf("journal %+v", acts)
		}
	})
}

func TestDryRunAnnouncesOnceAndLeavesTheBudgetAlone(t *testing.T) {
	s := stage(t, func(c *config.Configuration) { c.Restart.DryRun = true })
	s.node = stale()
	s.watch(2 * time.Minute)
	s.wantDone()
	if acts := s.journalled(); len(acts) != 1 || acts[0].Result != restartpolicy.ResultDryRun {
		t.Errorf("journal %+v", acts)
	}
	if s.logged("msg=act ", "result=dry-run") != 1 {
		t.Errorf("log:\n%s", s.log.String())
	}

	s.cfg.Restart.DryRun = false
	s.start()
	s.watch(15 * time.Second)
	s.wantDone(restartpolicy.StopContainer)
}

func TestARefusedStepIsATriedOne(t *testing.T) {
	s := stage(t)
	s.node = stale()
	s.doing = func(restartpolicy.Step) remedy.Outcome {
		return remedy.Outcome{Result: restartpolicy.ResultRefused, Detail: "an installer lock is held"}
	}
	s.watch(30*time.Second + 10*time.Minute)
	if n := len(s.did); n != 1 {
		t.Errorf("tried %d times in ten minutes", n)
	}
	v := s.published().Verdicts
	if got := v[len(v)-1]; !strings.Contains(strings.Join(got.BlockedBy, ","), "breaker") || got.Last.Result != restartpolicy.ResultRefused {
		t.Errorf("published %+v", got)
	}
	s.doing = func(restartpolicy.Step) remedy.Outcome { return remedy.Outcome{Result: restartpolicy.ResultDone} }
	before := len(s.did)
	s.watch(s.cfg.Restart.Steps.StopContainer.GapMax.Duration)
	if len(s.did) == before {
		t.Error("no act once the longest gap was over")
	}
}
