//go:build world

package world

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// What was measured on real nodes (kubelet 1.37.2, CRI-O 1.34.0, no agent), and
// what the model makes of the same.

// lab is a node with one pod of two containers and nobody who helps.
type lab struct {
	*scene
	t *testing.T
}

func newLab(t *testing.T, change func(*Scenario)) *lab {
	p := plainPod("app")
	p.Main = append(p.Main, p.Main[0])
	p.Main[1].Name = "side"
	sc := &Scenario{Seed: 1, Pods: []*Pod{p}, Profile: Profile{Version: "1.37.2", NodeName: "node1", View: true, Watch: true, Journal: true, KillMode: "process"}}
	if change != nil {
		change(sc)
	}
	l := &lab{t: t}
	sc.AgentAt, sc.Span = time.Hour*24, 0
	sc.play(Policy(), Decision{}, options{within: func(s *scene) { l.scene = s }, keep: true})
	l.sim.run(5 * time.Minute)
	return l
}

// until lets time pass until something is so, and tells how long it took.
func (l *lab) until(what string, is func() bool) time.Duration {
	l.t.Helper()
	began := l.sim.now
	for !is() {
		if l.sim.now > began+20*time.Minute {
			l.t.Fatalf("%s: not within 20 minutes", what)
		}
		l.sim.run(l.sim.now + 100*time.Millisecond)
	}
	return l.sim.now - began
}

func (l *lab) main() *container { return l.running(l.pods[0], "main") }

// takes checks a duration against what was measured.
func (l *lab) takes(what string, took, least, most time.Duration) {
	l.t.Helper()
	if took < least || took > most {
		l.t.Errorf("%s took %s, measured %s to %s", what, took, least, most)
	}
}

func (l *lab) stays(what string, d time.Duration, is func() bool) {
	l.t.Helper()
	for end := l.sim.now + d; l.sim.now < end; l.sim.run(l.sim.now + time.Second) {
		if !is() {
			l.t.Fatalf("%s: no more", what)
		}
	}
}

func TestHealthyKubeletRestartsACrashedContainerAtOnce(t *testing.T) {
	l := newLab(t, nil)
	l.kill(l.main())
	l.takes("a restart", l.until("main runs", func() bool { return l.main() != nil }), 200*time.Millisecond, 4*time.Second)
}

func TestCrashLoopKeepsTheMeasuredWaits(t *testing.T) {
	l := newLab(t, nil)
	l.kill(l.main())
	l.until("main runs", func() bool { return l.main() != nil })
	for _, wait := range []int{10, 20, 40, 80, 160, 300} {
		l.kill(l.main())
		took := l.until("main runs", func() bool { return l.main() != nil })
		b := time.Duration(wait) * time.Second
		l.takes("the wait of "+b.String(), took, b, b+min(b, time.Minute)/2+5*time.Second)
	}
}

func TestRolloutTakesTheMeasuredTime(t *testing.T) {
	for name, c := range map[string]struct{ ends, least, most time.Duration }{
		"TERM obeyed":  {time.Second, 3 * time.Second, 25 * time.Second}, // 13.1 s
		"TERM ignored": {time.Hour, 30 * time.Second, 55 * time.Second},  // 41.5 s
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, func(sc *Scenario) { sc.Pods[0].Main[0].Ends = c.ends })
			old := l.main()
			l.edit(Event{}, nil)
			took := l.until("the new main runs", func() bool { m := l.main(); return m != nil && m != old && m.sandbox != old.sandbox })
			l.takes("a rollout", took, c.least, c.most)
		})
	}
}

// A3: the new UID without statuses, the old one's container never restarted, for
// ever; a restart of the kubelet starts the new one beside the old one; the API
// server's return ends the old one.
func TestNewRevisionWaitsForEver(t *testing.T) {
	l := newLab(t, func(sc *Scenario) { sc.APIAway = true })
	old := l.main()
	l.edit(Event{}, nil)
	l.sim.run(l.sim.now + 5*time.Second)
	l.kill(old)
	waits := func() bool {
		v := l.kubelet.view()
		return len(v) == 1 && v[0].UID != old.sandbox.uid && len(v[0].Statuses) == 0 && v[0].Phase == corev1.PodPending && l.main() == nil
	}
	l.sim.run(l.sim.now + 5*time.Second)
	l.stays("waiting", 10*time.Minute, waits)
	l.by(l.kubelet.unit.restart)
	l.takes("the new revision after a restart of the kubelet", l.until("runs", func() bool { return l.main() != nil }), 500*time.Millisecond, 12*time.Second)
	l.stays("two generations", 7*time.Minute, func() bool { return old.sandbox.ready && l.main() != nil })
	l.api = true
	l.apiUp.broadcast(&l.sim)
	l.takes("the end of the old one once the API server is there", l.until("gone", func() bool { return !old.sandbox.ready }), 2*time.Second, 40*time.Second)
}

func TestNewRevisionComesWithTheAPIServer(t *testing.T) {
	l := newLab(t, func(sc *Scenario) { sc.APIAway = true })
	old := l.main()
	l.edit(Event{}, nil)
	l.sim.run(l.sim.now + 5*time.Second)
	l.kill(old)
	l.sim.run(l.sim.now + time.Minute)
	l.api = true
	l.apiUp.broadcast(&l.sim)
	l.takes("the new revision", l.until("runs", func() bool { return l.main() != nil }), 5*time.Second, 70*time.Second) // 31 s
}

// D1: CRI says running for ever; StopContainer makes CRI-O notice in 4 s, and the
// kubelet has a new one 16 s later.
func TestLostExitIsNeverNoticed(t *testing.T) {
	l := newLab(t, nil)
	lost := l.main()
	l.loseExit(lost)
	l.stays("running", 5*time.Minute, func() bool { return lost.state == node.ContainerRunning })
	l.by(l.kubelet.unit.restart)
	l.stays("running", 2*time.Minute, func() bool { return lost.state == node.ContainerRunning })
	l.by(func(t *task) {
		_ = l.crio.ask(t, time.Minute, func(o *task) error { return l.crio.halt(o, lost, 2*time.Second) })
	})
	l.takes("StopContainer", l.until("exited", func() bool { return lost.state == node.ContainerExited }), 3*time.Second, 5*time.Second)
	l.takes("the restart", l.until("runs", func() bool { return l.main() != nil }), 2*time.Second, 25*time.Second)
}

// B6: a start that hangs costs two minutes; a kubelet that is restarted meanwhile
// looks after no pod, lists none, and says that it is well.
func TestHungStart(t *testing.T) {
	hung := func(l *lab) {
		l.crio.hangs = []hang{{"start", l.pods[0].fullName("node1"), forEver, 1, nil}}
		l.kill(l.main())
	}
	l := newLab(t, nil)
	hung(l)
	l.takes("the next attempt", l.until("runs", func() bool { return l.main() != nil }), 2*time.Minute, 140*time.Second)

	l = newLab(t, nil)
	hung(l)
	l.sim.run(l.sim.now + 5*time.Second)
	l.by(l.kubelet.unit.restart)
	l.sim.run(l.sim.now + 10*time.Second)
	l.kill(l.running(l.pods[0], "side"))
	l.stays("blocked", 7*time.Minute, func() bool { return l.running(l.pods[0], "side") == nil && len(l.kubelet.view()) == 0 })
	l.by(l.crio.unit.restart)
	l.until("main runs", func() bool { return l.main() != nil && l.running(l.pods[0], "side") != nil })
}

// A create of 150 s outlives the kubelet's call and is thrown away: a live-lock.
func TestSlowCreationsNeverEnd(t *testing.T) {
	l := newLab(t, nil)
	l.crio.hangs = []hang{{"create", l.pods[0].fullName("node1"), 150 * time.Second, 1000, nil}}
	l.kill(l.main())
	l.stays("down", 12*time.Minute, func() bool { return l.main() == nil })
}

// A start of 150 s runs after the kubelet has given it up: two run.
func TestTwoAttemptsRun(t *testing.T) {
	l := newLab(t, nil)
	l.crio.hangs = []hang{{"start", l.pods[0].fullName("node1"), 150 * time.Second, 1, nil}}
	l.kill(l.main())
	both := func() bool {
		n := 0
		for _, r := range l.crio.records(l.main().sandbox.uid) {
			if r.spec.Name == "main" && r.state == node.ContainerRunning {
				n++
			}
		}
		return n == 2
	}
	l.until("two run", func() bool { return l.main() != nil && both() })
	l.stays("two run", 10*time.Minute, both)
}

// C1: a postStart hook that is never answered: the sibling is never created.
func TestHookThatHangs(t *testing.T) {
	l := newLab(t, func(sc *Scenario) { sc.Pods[0].Main[0].PostStart = time.Second })
	l.hookHangs["kube-system/app-node1/main"] = forEver
	l.kill(l.main())
	l.kill(l.running(l.pods[0], "side"))
	l.until("main runs", func() bool { return l.main() != nil })
	l.stays("side is down", 10*time.Minute, func() bool { return l.running(l.pods[0], "side") == nil })
	l.by(l.kubelet.unit.restart)
	l.until("side runs", func() bool { return l.running(l.pods[0], "side") != nil })
}

// A6: rejected once, never retried; a restart of the kubelet with room cures it.
func TestRejectionIsFinal(t *testing.T) {
	l := newLab(t, func(sc *Scenario) { sc.MaxPods = 1; sc.Pods = append(sc.Pods, plainPod("late")) })
	l.MaxPods = 2
	late := func() bool { return l.running(l.pods[1], "main") != nil }
	l.stays("rejected", 10*time.Minute, func() bool { return !late() })
	l.by(l.kubelet.unit.restart)
	l.takes("the pod with room", l.until("runs", late), 500*time.Millisecond, 12*time.Second) // 1.0 s
}

// C5 and C6: CRI-O stopped by a signal is cured by its restart in 2 s, and the
// kubelet by its own.
func TestStoppedBySignal(t *testing.T) {
	l := newLab(t, nil)
	l.kill(l.main())
	l.crio.process.stop()
	l.stays("down", 10*time.Minute, func() bool { return l.main() == nil })
	l.by(l.crio.unit.restart)
	l.takes("after CRI-O's restart", l.until("runs", func() bool { return l.main() != nil }), 500*time.Millisecond, 12*time.Second)

	l.kubelet.process.stop()
	l.kill(l.main())
	l.stays("down", 10*time.Minute, func() bool { return l.main() == nil })
	l.by(l.kubelet.unit.restart)
	l.takes("after the kubelet's restart", l.until("runs", func() bool { return l.main() != nil }), 500*time.Millisecond, 12*time.Second)
}

// A kubelet killed between create and start leaves a record that stays for ever.
func TestLeftoverStays(t *testing.T) {
	l := newLab(t, nil)
	happenings["killed-in-a-start"](l.scene, Event{})
	l.sim.run(l.sim.now + 20*time.Second)
	l.until("main runs", func() bool { return l.main() != nil })
	l.stays("leftover", 20*time.Minute, func() bool {
		for _, r := range l.crio.records(l.main().sandbox.uid) {
			if r.state == node.ContainerCreated {
				return true
			}
		}
		return false
	})
}

// A kubelet that is restarted while a stop uses its grace waits for the end of it.
func TestRestartedKubeletWaitsForAStop(t *testing.T) {
	l := newLab(t, func(sc *Scenario) { sc.Pods[0].Deletion, sc.Pods[0].Main[0].Ends = 600*time.Second, 300*time.Second })
	l.edit(Event{}, nil)
	l.sim.run(l.sim.now + 60*time.Second)
	l.by(l.kubelet.unit.restart)
	l.sim.run(l.sim.now + 5*time.Second)
	l.takes("the start-up", l.until("enters its loop", func() bool { return l.kubelet.entered }), 200*time.Second, 260*time.Second) // 207 s
}
