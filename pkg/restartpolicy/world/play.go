//go:build world

package world

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// result is what became of a timeline.
type result struct {
	scenario *Scenario
	acts     []Act
	bad      map[string]string
	troubles map[string]map[restartpolicy.State]time.Duration
	timeline []string
	// well is since when everything ran again after the fault; 0 for never.
	well    time.Duration
	scene   *scene
	looks   int
	records []observation
}

// options of one run.
type options struct {
	timeline bool
	record   bool
	idle     bool
	// keep leaves the node as it is at the end, for tests of the model itself.
	keep bool
	// within lets the caller change the world before it begins.
	within func(*scene)
}

// play runs a scenario to its end.
func (sc *Scenario) play(policy config.Restart, d Decision, o options) *result {
	w := newWorld(sc.Profile, sc.Seed, sc.Slow)
	res := &result{scenario: sc}
	if o.timeline {
		w.timeline = &res.timeline
	}
	s := &scene{World: w, gone: map[int]bool{}}
	res.scene = s
	w.api = !sc.APIAway
	w.labels = true
	for _, p := range sc.Pods {
		p = p.clone()
		s.pods = append(s.pods, p)
		for _, c := range p.all() {
			w.images[c.Image] = true
		}
		if p.Static {
			w.disk.write(p, w.epoch.Add(-24*time.Hour))
		} else {
			w.others = append(w.others, p)
		}
	}
	a := w.newAgent(policy, d)
	a.eager = sc.Eager
	a.idle = o.idle
	switch sc.Ban {
	case "withheld":
		a.ledger.Withheld = "the journal of acts is lost"
	case "elsewhere":
		w.elsewhere = true
	case "unitless":
		w.unitless = true
	case "opt-out":
		for _, p := range s.pods {
			p.OptOut = true
		}
	}
	for kind, n := range sc.Fails {
		a.fails[kind] = n
	}
	if len(sc.Masks) > 0 {
		a.mask = func(snap *node.Snapshot) { maskAll(sc.Masks, snap) }
	}
	if o.record {
		a.seen = func(ob observation) { res.records = append(res.records, ob) }
	}
	if o.within != nil {
		o.within(s)
	}
	w.sim.after(3*time.Second, w.crio.unit.begin)
	w.sim.after(5*time.Second, w.kubelet.unit.begin)
	w.sim.after(sc.AgentAt, a.begin)
	for _, e := range sc.Events {
		w.sim.after(e.At, func() { happenings[e.Kind](s, e) })
	}
	if sc.Fault != "" {
		f := faults[sc.Fault]
		w.sim.after(sc.FaultAt.At, func() {
			w.note("FAULT: %s", sc.Fault)
			f.inject(s, sc.FaultAt)
		})
		s.watchWell(sc.FaultAt.At+f.shows, &res.well)
	}
	for w.sim.now < sc.Span {
		w.sim.run(min(sc.Span, w.sim.now+time.Minute))
		if !sc.Eager && res.well > 0 && !faults[sc.Fault].forgives && w.sim.now > res.well+5*time.Minute && !sc.eventful(w.sim.now) && a.settled() {
			break
		}
	}
	if o.keep {
		return res
	}
	a.end()
	w.admin.kill()
	w.kubelet.process.kill()
	w.crio.process.kill()
	res.acts, res.bad, res.troubles, res.looks = a.acts, a.bad, a.troubles, a.looks
	return res
}

// eventful tells that something is still to happen, or not over.
func (sc *Scenario) eventful(now time.Duration) bool {
	for _, e := range sc.Events {
		if now < e.At+e.For+2*time.Minute {
			return true
		}
	}
	return false
}

// watchWell notes since when all is well after a time.
func (s *scene) watchWell(from time.Duration, at *time.Duration) {
	var tick func()
	tick = func() {
		switch {
		case s.well() != "":
			*at = 0
		case *at == 0:
			*at = s.sim.now
		}
		s.later(5*time.Second, tick)
	}
	s.later(from, tick)
}

// well tells that every static pod that should run does, once, and is looked
// after; else what is not.
func (s *scene) well() string {
	if s.kubelet.unit.pid == 0 || !s.kubelet.entered || s.kubelet.process.stopped || !s.crio.answers() {
		return "kubelet or runtime is down"
	}
	for _, f := range s.disk.sorted() {
		if f.broken != "" || f.pod.Refused != "" {
			continue
		}
		if why := s.podWell(f); why != "" {
			return f.pod.Name + ": " + why
		}
	}
	return ""
}

func (s *scene) podWell(f *file) string {
	uid := f.uid(s.kubelet.nodeName)
	name := f.pod.fullName(s.kubelet.nodeName)
	found := map[string]int{}
	for _, sb := range s.crio.sandboxes {
		if sb.name != name {
			continue
		}
		if sb.ready && sb.uid != uid {
			return "an old revision is there"
		}
		if sb.infra == node.ProcessGone && sb.ready {
			return "its sandbox is dead"
		}
		for _, k := range sb.containers {
			if k.state == node.ContainerRunning && k.process == node.ProcessAlive {
				found[k.spec.Name]++
			}
		}
	}
	for _, c := range f.pod.all() {
		if f.pod.init(c.Name) && !c.Sidecar || c.Lives > 0 {
			continue
		}
		if f.pod.Policy != corev1.RestartPolicyAlways || c.Policy != "" || f.pod.Deadline > 0 {
			continue
		}
		if found[c.Name] != 1 {
			return fmt.Sprintf("%d of %s run", found[c.Name], c.Name)
		}
	}
	return ""
}
