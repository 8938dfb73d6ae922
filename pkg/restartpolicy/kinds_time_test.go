package restartpolicy

import (
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// Given any fault, when the machine stands still or the agent is away in any phase
// of it, then that time does not count: the kubelet did not live through it
// either, or may have dealt with it unseen.
func TestTimeInWhichNobodyLookedDoesNotCount(t *testing.T) {
	t.Parallel()
	for name, fault := range curable {
		want := cures[name]
		for _, tenths := range []time.Duration{0, 3, 7, 9} {
			for pause, gap := range map[string]time.Duration{"two minutes": 2 * time.Minute, "an hour": time.Hour, "a week": 7 * 24 * time.Hour} {
				t.Run(name+", "+pause+" after "+(want.at*tenths/10).String(), func(t *testing.T) {
					w, alter := fault()
					at := (want.at * tenths / 10).Truncate(interval)
					var slept time.Duration
					line := w.until(30*time.Minute+gap, func(s *node.Snapshot, since time.Duration) {
						if slept == 0 && since > at {
							slept = gap
							w.now += gap
							s.Taken.Boot, s.Taken.Wall = s.Taken.Boot+gap, s.Taken.Wall.Add(gap)
							since += gap
						}
						alter(s, since)
						// As long as the agent was away, or the probe stood still, no
						// silence was heard.
						if s.Runtime.Silent > 0 {
							s.Runtime.Silent = since - slept
						}
					})
					const forgiven = 2*interval + lookSlack
					line.first(t, want.kind, gap+want.at-forgiven, gap+want.at+4*interval)
				})
			}
		}
	}
}

// Given a crash loop within the kubelet's own times, when the wall clock jumps in
// any phase, then nothing is done.
func TestWallClockJumpsInACrashLoop(t *testing.T) {
	t.Parallel()
	for jump, by := range map[string]time.Duration{
		"an hour on": time.Hour, "an hour back": -time.Hour, "a minute on": time.Minute, "a minute back": -time.Minute,
		"ten years on": 10 * 365 * 24 * time.Hour, "ten years back": -10 * 365 * 24 * time.Hour,
	} {
		for phase, at := range map[string]time.Duration{"before the crash": 0, "in the back-off": 100 * time.Second, "at its end": 300 * time.Second} {
			for way, see := range ways {
				t.Run(jump+" "+phase+", "+way, func(t *testing.T) {
					w := newWorld(2)
					w.containers[0].attempt = 8
					jumped, crashed := false, false
					line := w.watch(14*time.Minute, func(s *node.Snapshot, since time.Duration) {
						if !crashed && since > time.Minute {
							crashed = true
							w.crash(0, 1)
							w.containers[0].restartAt = w.now + 325*time.Second
						}
						if !jumped && since > time.Minute+at {
							jumped = true
							w.wall = w.wall.Add(by)
						}
						if crashed && !w.containers[0].running {
							backedOff(s, 0)
							see(s)
							if s.Kubelet.Told.Known() {
								says(s, bootTime+(since/time.Minute)*time.Minute, "c0", "CrashLoopBackOff", "back-off 5m0s restarting failed container=c0")
							}
							return
						}
						see(s)
					})
					line.quiet(t, "the container is started again within its back-off")
				})
			}
		}
	}
}

// And a forgotten container is cured all the same, a hold-off later at most.
func TestWallClockJumpsBesideAForgottenContainer(t *testing.T) {
	t.Parallel()
	for jump, by := range map[string]time.Duration{"an hour on": time.Hour, "an hour back": -time.Hour, "ten years back": -10 * 365 * 24 * time.Hour} {
		for phase, at := range map[string]time.Duration{"at once": time.Second, "in between": 100 * time.Second} {
			t.Run(jump+" "+phase, func(t *testing.T) {
				w := newWorld(2)
				w.crash(0, 1)
				jumped := false
				w.until(30*time.Minute, func(s *node.Snapshot, since time.Duration) {
					if !jumped && since > at {
						jumped = true
						w.wall = w.wall.Add(by)
					}
				}).first(t, RestartKubelet, 150*time.Second, 150*time.Second+time.Minute+4*interval)
			})
		}
	}
}

// A slower node acts later, not more.
func TestSlowLooksActLaterNotMore(t *testing.T) {
	t.Parallel()
	for name, fault := range curable {
		t.Run(name, func(t *testing.T) {
			w, alter := fault()
			usual := len(w.watch(time.Hour, alter).acts)
			slow, alter := fault()
			acts := 0
			var first time.Duration
			begin := slow.now
			slow.observe = func(s *node.Snapshot, w *world) { alter(s, w.now-begin) }
			for slow.now < begin+time.Hour {
				slow.tick(29 * time.Second) // it is meant to be 5 s
				if len(slow.steps) > acts {
					acts++
					if first == 0 {
						first = slow.now - begin
					}
				}
			}
			if acts == 0 || acts > usual || first < cures[name].at {
				t.Errorf("%d acts, first after %v; with usual looks %d, first after %v", acts, first, usual, cures[name].at)
			}
		})
	}
}

// Given a history that is lost, when the agent begins anew, then each fault begins
// anew as well.
func TestLostHistoryBeginsTheDeadlinesAnew(t *testing.T) {
	t.Parallel()
	for name, fault := range curable {
		t.Run(name, func(t *testing.T) {
			w, alter := fault()
			want := cures[name]
			at := (want.at * 8 / 10).Truncate(interval)
			lost := false
			line := w.until(30*time.Minute, func(s *node.Snapshot, since time.Duration) {
				alter(s, since)
				if !lost && since > at {
					lost, w.history = true, History{}
				}
			})
			if want.kind == RestartRuntime && name == "a start hangs" {
				return // Its age is the process's own.
			}
			line.first(t, want.kind, at+want.at-2*interval, at+want.at+8*interval)
		})
	}
}
