package restartpolicy

import (
	"slices"
	"testing"
	"time"
)

// Each guard alone keeps back a step that is otherwise due. Taking the guard
// away lets the step through, so that none of them can be lost unnoticed.
func TestEachGuardHoldsBackAStep(t *testing.T) {
	scenes := map[string]func(*world){
		"paused":          func(w *world) { w.forget(); w.paused = "until noon" },
		"shutting-down":   func(w *world) { w.forget(); w.shuttingDown = true },
		"host-busy":       func(w *world) { w.forget(); w.busy = []string{"ostree"} },
		"kubelet-stopped": func(w *world) { w.containers[0].stale = true; w.kubeletStopped = true },
		"runtime-stopped": func(w *world) { w.forget(); w.runtimeStopped = true },
		"looks":           func(w *world) { w.forget(); w.policy.Looks = 1 << 20 },
		"boot-hold-off":   func(w *world) { w.forget(); w.policy.HoldOffs.Boot.Duration = 1000 * time.Hour },
		"clock-step": func(w *world) {
			w.forget()
			w.policy.HoldOffs.ClockStep.Duration = 1000 * time.Hour
			w.look()
			w.wall = w.wall.Add(time.Hour)
		},
		"kubelet-first": func(w *world) {
			w.forget()
			w.kubeletUp = false
			w.policy.Deadlines.KubeletDown.Duration = 1000 * time.Hour
		},
		"kubelet-hold-off": func(w *world) {
			w.forget()
			w.policy.HoldOffs.KubeletStart.Duration = 1000 * time.Hour
		},
		"runtime-hold-off":  func(w *world) { w.forget(); w.policy.HoldOffs.RuntimeStart.Duration = 1000 * time.Hour },
		"manifest-hold-off": func(w *world) { w.forget(); w.policy.HoldOffs.ManifestChange.Duration = 1000 * time.Hour },
	}
	for _, g := range guards {
		t.Run(g.name, func(t *testing.T) {
			set, ok := scenes[g.name]
			if !ok {
				t.Fatalf("guard %q has no scene here", g.name)
			}
			if n := acts(set, guards); n > 0 {
				t.Errorf("with the guard: %d steps, want none", n)
			}
			without := slices.DeleteFunc(slices.Clone(guards), func(o guard) bool { return o.name == g.name })
			if n := acts(set, without); n == 0 {
				t.Errorf("without the guard: no step; another guard or nothing held it back")
			}
		})
	}
}

// acts counts the steps of half an hour.
func acts(set func(*world), guards []guard) int {
	w := newWorld(2)
	w.guards = guards
	set(w)
	for range 360 {
		w.tick(interval)
	}
	return len(w.steps)
}

// forget lets the kubelet forget the first container.
func (w *world) forget() { w.crash(0, 1) }
