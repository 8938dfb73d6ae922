package agent

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/remedy"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

func TestTheLoopLooksByItselfAndSoonerWhenPoked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stage(t)
		var looks atomic.Int64
		s.looking = func() { looks.Add(1) }
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); s.Agent.Run(ctx) }()
		expect := func(after time.Duration, want int64) {
			t.Helper()
			<-time.After(after)
			synctest.Wait()
			if looks.Load() != want {
				t.Fatalf("%d looks, want %d", looks.Load(), want)
			}
		}
		expect(0, 1)
		expect(5*time.Second, 2)
		expect(4*time.Second, 2)
		expect(time.Second, 3)
		s.Poke()
		s.Poke()
		expect(0, 3)
		expect(pokeDelay, 4)
		expect(4*time.Second, 4)
		expect(time.Second, 5)
		cancel()
		<-ended
		if last := s.sent[len(s.sent)-1]; last != "STOPPING=1" {
			t.Errorf("last message %q", last)
		}
	})
}

func TestTheServiceManagerIsTold(t *testing.T) {
	s := stage(t)
	s.watch(5 * time.Second)
	if len(s.sent) != 2 || !strings.HasPrefix(s.sent[0], "READY=1\nSTATUS=1 pods: all well") || s.sent[1] != "WATCHDOG=1" {
		t.Errorf("first look: %q", s.sent)
	}
	s.sent = nil
	s.watch(10 * time.Second)
	if got := strings.Join(s.sent, " "); got != "WATCHDOG=1 WATCHDOG=1" {
		t.Errorf("the same again: %q", got)
	}
}

func TestAnActHasItsOwnTime(t *testing.T) {
	s := stage(t)
	s.node = stale()
	ctx, cancel := context.WithCancel(context.Background())
	s.doing = func(restartpolicy.Step) remedy.Outcome {
		if last := s.sent[len(s.sent)-1]; last != "WATCHDOG_USEC=135000000\nWATCHDOG=1" {
			t.Errorf("before the act %q", last)
		}
		told := make(chan struct{})
		s.manager.send = func(m string) { s.send(m); close(told) }
		cancel()
		<-told
		if last := s.sent[len(s.sent)-1]; last != "STOPPING=1\nEXTEND_TIMEOUT_USEC=105000000" {
			t.Errorf("told to stop in the act %q", last)
		}
		s.manager.send = s.send
		return remedy.Outcome{Result: restartpolicy.ResultDone}
	}
	for ctx.Err() == nil {
		s.pass(5 * time.Second)
		s.turn(ctx)
	}
	s.wantDone(restartpolicy.StopContainer)
	if got := strings.Join(s.sent[len(s.sent)-2:], " "); got != "WATCHDOG_USEC=30000000\nWATCHDOG=1 WATCHDOG=1" {
		t.Errorf("after the act %q", got)
	}
	if acts := s.journalled(); acts[0].Result != restartpolicy.ResultDone {
		t.Errorf("journal %+v", acts)
	}
}
