//go:build world

package world

import (
	"fmt"
	"maps"
	"time"
)

// Event is something that happens to a node at a time. What Pod, Container, For
// and N mean depends on the kind; what makes no sense at that moment is left out.
type Event struct {
	At        time.Duration
	Kind      string
	Pod       int
	Container int
	For       time.Duration
	N         int
}

// String is one line.
func (e Event) String() string {
	return fmt.Sprintf("%s %s pod=%d container=%d for=%s n=%d", clock(e.At), e.Kind, e.Pod, e.Container, e.For, e.N)
}

// scene is a world with the pods that the events are about. A pod that was
// edited is replaced in it.
type scene struct {
	*World
	pods []*Pod
	// gone are manifests that an admin took away.
	gone map[int]bool
}

// pick is a pod and one of its containers.
func (s *scene) pick(e Event) (*Pod, *Container) {
	p := s.pods[e.Pod%len(s.pods)]
	all := p.all()
	return p, all[e.Container%len(all)]
}

// main picks a regular container.
func (s *scene) main(e Event) (*Pod, *Container) {
	p := s.pods[e.Pod%len(s.pods)]
	return p, &p.Main[e.Container%len(p.Main)]
}

// static is the index of a pod that has a manifest.
func (s *scene) static(e Event) int {
	n := 0
	for n < len(s.pods) && s.pods[n].Static {
		n++
	}
	return e.Pod % n
}

// later does something after d, on the boot clock.
func (s *scene) later(d time.Duration, do func()) { s.sim.after(d, do) }

// happenings are what may happen to a node while nothing is wrong with its
// kubelet and its runtime: not one of them is a reason to act.
var happenings = func() map[string]func(*scene, Event) {
	all := maps.Clone(ofContainers)
	maps.Copy(all, ofAdmins)
	maps.Copy(all, around)
	return all
}()

// ofContainers are what containers and their starts come to by themselves.
var ofContainers = map[string]func(*scene, Event){
	"crash": crash,
	"crash-loop": func(s *scene, e Event) {
		p, c := s.main(e)
		c.Lives, c.Code = time.Duration(1+e.N%60)*time.Second, 1
		s.note("%s of %s begins to crash after %s, for %s", c.Name, p.Name, c.Lives, e.For)
		if k := s.running(p, c.Name); k != nil {
			s.end(k, 1, "Error")
		}
		s.later(e.For, func() { c.Lives = 0 })
	},
	"pull": func(s *scene, e Event) {
		p, c := s.main(e)
		if c.Pull == "Never" || !s.images[c.Image] {
			return // or it is being pulled already
		}
		s.store(c.Image, false)
		s.pulls[c.Image] = e.For
		s.note("the image of %s of %s is gone, and a pull takes %s", c.Name, p.Name, e.For)
		if k := s.running(p, c.Name); k != nil {
			s.end(k, 1, "Error")
		}
	},
	"liveness": func(s *scene, e Event) {
		p, c := s.main(e)
		k := s.running(p, c.Name)
		if k == nil || !c.Liveness {
			return
		}
		if q := s.kubelet.worker(k.sandbox.uid); q != nil {
			s.note("the liveness probe of %s of %s fails", c.Name, p.Name)
			s.kubelet.liveness[k.id] = true
			q.poke()
		}
	},
	"kill-kubelet": func(s *scene, e Event) {
		s.note("the kubelet is killed")
		s.kubelet.unit.exited("signal")
	},
	"kill-runtime": func(s *scene, e Event) {
		if !s.Monitors {
			s.note("CRI-O is killed")
			s.crio.unit.exited("signal")
		}
	},
	"slow-start": func(s *scene, e Event) {
		p, _ := s.pick(e)
		verb := "start"
		if e.N%2 == 0 {
			verb = "create"
		}
		takes := min(e.For, 110*time.Second)
		s.crio.hangs = append(s.crio.hangs, hang{verb, p.fullName(s.NodeName), takes, 1, nil})
		s.note("the next %s of %s takes %s", verb, p.Name, takes)
		crash(s, Event{Pod: e.Pod, Container: e.Container, N: 1})
	},
	// A kubelet or a runtime that is killed between create and start leaves a
	// record that was never started.
	"killed-in-a-start": func(s *scene, e Event) {
		p, c := s.pick(e)
		s.crio.hangs = append(s.crio.hangs, hang{"start", p.fullName(s.NodeName), 20 * time.Second, 1, nil})
		crash(s, Event{Pod: e.Pod, Container: e.Container, N: 1})
		s.later(8*time.Second, func() {
			for _, k := range s.crio.calls {
				if k.verb != "start" || k.killed {
					continue
				}
				s.note("kubelet and runc are killed in the start of %s of %s", c.Name, p.Name)
				k.killed = true
				k.done.broadcast(&s.sim)
				s.kubelet.unit.exited("signal")
			}
		})
	},
}

// healthy tells that a change of a manifest is carried out by this kubelet: all
// of its sources are ready, and it is at work.
func (s *scene) healthy() bool {
	return s.kubelet.unit.pid > 0 && s.kubelet.entered && s.kubelet.ready && !s.kubelet.process.stopped && s.crio.answers()
}

// edit writes a new revision of a pod's manifest.
func (s *scene) edit(e Event, change func(*Pod)) {
	i := s.static(e)
	p := s.pods[i].clone()
	p.Revision++
	if change != nil {
		change(p)
	}
	s.note("the manifest of %s changes to revision %d", p.Name, p.Revision)
	s.pods[i] = p
	s.disk.write(p, s.wall())
}

func crash(s *scene, e Event) {
	p, c := s.pick(e)
	if k := s.running(p, c.Name); k != nil {
		s.note("%s of %s exits with %d", c.Name, p.Name, e.N)
		s.end(k, int32(e.N), reasonOf(int32(e.N)))
	}
}

func stopp(s *scene, e Event) {
	p, _ := s.pick(e)
	if sb := s.sandboxOf(p); sb != nil && s.crio.answers() {
		s.note("crictl stopp of %s", p.Name)
		s.by(func(t *task) {
			_ = s.crio.ask(t, callLimit, func(o *task) error { return s.crio.stopPodSandbox(o, sb, 10*time.Second) })
		})
	}
}
