package restartpolicy

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

const interval = 5 * time.Second

// A kubelet that restarts within its own rules is never interfered with,
// however often the container crashes.
func TestWorkingKubeletIsLeftAlone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(rapid.IntRange(1, 3).Draw(t, "containers"))
		w.viewed = rapid.Bool().Draw(t, "viewed")
		w.spec.RestartPolicy = rapid.SampledFrom([]corev1.RestartPolicy{
			corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever,
		}).Draw(t, "policy")
		backOff := BackOffOf(GatesOf("1.37.2", nil), 0)
		for w.now < 3*time.Hour {
			for i, c := range w.containers {
				if !c.running || rapid.IntRange(0, 9).Draw(t, "crash") > 0 {
					continue
				}
				code := int32(rapid.IntRange(0, 2).Draw(t, "code"))
				w.crash(i, code)
				if AfterExit(&w.spec, &w.spec.Containers[i], code, GatesOf("1.37.2", nil)) != RestartNo {
					b := backOff.Wait(c.attempt)
					lag := time.Duration(rapid.IntRange(1, 30000).Draw(t, "lag")) * time.Millisecond
					c.restartAt = w.now + b + lag
				}
			}
			for range rapid.IntRange(1, 60).Draw(t, "looks") {
				w.tick(interval)
			}
		}
		if len(w.steps) > 0 {
			t.Fatalf("acted on a working kubelet: %+v at %v", w.steps[0], w.stepTimes[0])
		}
	})
}

// Without a manifest there is no act, ever; nor within the hold-off of a
// changed one.
func TestNoActWithoutAnUnchangedManifest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(2)
		w.viewed = rapid.Bool().Draw(t, "viewed")
		holdOff := 30*time.Second + w.policy.HoldOffs.ManifestChange.Duration
		changed := time.Duration(-1)
		for range rapid.IntRange(50, 400).Draw(t, "looks") {
			switch rapid.IntRange(0, 40).Draw(t, "event") {
			case 0:
				w.manifest, changed, w.modified = !w.manifest, w.now, w.now
			case 1:
				w.digest, changed, w.modified = w.digest+1, w.now, w.now
			case 2, 3:
				w.crash(rapid.IntRange(0, 1).Draw(t, "which"), 1)
			case 4:
				w.containers[0].stale = true
			case 5:
				w.rejected = !w.rejected
			}
			before := len(w.steps)
			w.tick(interval)
			if len(w.steps) == before {
				continue
			}
			if !w.manifest {
				t.Fatalf("acted without a manifest: %+v", w.steps[before])
			}
			if changed >= 0 && w.now-changed < holdOff {
				t.Fatalf("acted %v after the manifest changed: %+v", w.now-changed, w.steps[before])
			}
		}
	})
}

// Whatever happens, no step is taken more often in an hour than its bound.
func TestBudgetsAreNeverExceeded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(3)
		for range rapid.IntRange(500, 2000).Draw(t, "looks") {
			switch rapid.IntRange(0, 60).Draw(t, "event") {
			case 0:
				w.crash(rapid.IntRange(0, 2).Draw(t, "which"), 1)
			case 1:
				c := w.containers[rapid.IntRange(0, 2).Draw(t, "which")]
				c.running, c.stale, c.attempt = true, rapid.Bool().Draw(t, "stale"), c.attempt+1
			case 2:
				w.kubeletUp = !w.kubeletUp
			case 3:
				w.runtimeUp = !w.runtimeUp
			case 4:
				w.rejected = !w.rejected
			case 5:
				w.viewed = !w.viewed
			}
			w.tick(interval)
		}
		for i, step := range w.steps {
			limit := StepOf(w.policy.Steps, step.Kind).PerHour
			n := 0
			for j := range w.steps[:i+1] {
				if w.steps[j].Kind == step.Kind && w.stepTimes[i]-w.stepTimes[j] < hour {
					n++
				}
			}
			if n > limit {
				t.Fatalf("%s taken %d times within an hour, bound %d", step.Kind, n, limit)
			}
		}
	})
}

// A container that stays down, with nothing that forbids an act, is acted on
// before its bound, whatever the kubelet's view and the attempt.
func TestForgottenContainerIsActedOnInTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(2)
		w.viewed = rapid.Bool().Draw(t, "viewed")
		c := w.containers[1]
		c.attempt = uint32(rapid.IntRange(0, 12).Draw(t, "attempt"))
		for range 3 {
			w.tick(interval)
		}
		w.crash(1, int32(rapid.IntRange(0, 255).Draw(t, "code")))
		died := w.now
		w.told = node.Told{From: time.Second, Last: died} // of use where there is no view
		bound := 120*time.Second + 30*time.Second         // the grace of the sibling that runs
		if b := BackOffOf(GatesOf("1.37.2", nil), 0).Wait(c.attempt); b > 0 {
			bound = max(bound, b+90*time.Second)
		}
		if !w.viewed {
			bound = 210 * time.Second
		}
		for len(w.steps) == 0 && w.now < died+bound+3*interval {
			w.tick(interval)
		}
		if len(w.steps) == 0 {
			t.Fatalf("down for %v and nothing done", w.now-died)
		}
		if w.steps[0].Kind != RestartKubelet {
			t.Fatalf("first step is %s", w.steps[0].Kind)
		}
		if w.now-died < bound {
			t.Fatalf("acted after %v, before the bound %v", w.now-died, bound)
		}
	})
}
