//go:build world

package world

import "time"

// around are what comes over a node from without: the network, the registry, the
// API server, time, and sources that do not answer us.
var around = map[string]func(*scene, Event){
	"slow-registry": func(s *scene, e Event) {
		s.manifestSlow = e.For
		s.note("the registry takes %s to answer", e.For)
		s.later(e.For+time.Minute, func() { s.manifestSlow = 0 })
		crash(s, e)
	},
	"registry-away": func(s *scene, e Event) {
		s.registry = false
		s.note("the registry cannot be reached for %s", e.For)
		s.later(e.For, func() { s.registry = true })
		if _, c := s.main(e); e.N%2 == 1 && c.Pull != "Never" {
			s.store(c.Image, false)
		}
		crash(s, Event{Pod: e.Pod, Container: e.Container, N: 1})
	},
	"cni-away": func(s *scene, e Event) {
		s.crio.network = false
		s.note("the CNI configuration is away for %s", e.For)
		s.later(e.For, func() {
			s.note("it is back")
			s.crio.network = true
		})
		if e.N%2 == 0 {
			stopp(s, e)
		} else {
			crash(s, Event{Pod: e.Pod, Container: e.Container, N: 1})
		}
	},
	"suspend": func(s *scene, e Event) {
		s.note("the node is suspended for %s", e.For)
		s.sim.suspend(e.For)
	},
	"clock-step": func(s *scene, e Event) {
		by := e.For
		if e.N%2 == 0 {
			by = -by
		}
		s.note("the wall clock is set by %s", by)
		s.offset += by
		if e.For > 2*time.Second { // less is the usual work of a time daemon
			s.stepped = s.sim.now
		}
	},
	"systemd-silent": func(s *scene, e Event) {
		s.systemdSilent = true
		s.note("systemd does not answer for %s", e.For)
		s.later(e.For, func() { s.systemdSilent = false })
	},
	"busy": func(s *scene, e Event) {
		s.busy = []string{"rpm-ostreed.service is active"}
		s.later(e.For, func() { s.busy = nil })
	},
	"shutdown-announced": func(s *scene, e Event) {
		s.shutdown = true
		s.later(e.For, func() { s.shutdown = false })
	},
	"cri-slow": func(s *scene, e Event) {
		s.crio.slow = time.Duration(2+e.N%15) * time.Second
		s.note("CRI lists take %s, for %s", s.crio.slow, e.For)
		s.later(e.For, func() { s.crio.slow = 0 })
	},
	"cri-denied": func(s *scene, e Event) {
		s.denied = true
		s.note("CRI is closed to us for %s", e.For)
		s.later(e.For, func() { s.denied = false })
	},
	"cri-too-large": func(s *scene, e Event) {
		s.tooLarge = true
		s.later(e.For, func() { s.tooLarge = false })
	},
	"manifests-unreadable": func(s *scene, e Event) {
		s.disk.unreadable = true
		s.note("the manifests cannot be listed by us for %s", e.For)
		s.later(e.For, func() { s.disk.unreadable = false })
	},
	"volume-late": func(s *scene, e Event) {
		p := s.pods[e.Pod%len(s.pods)]
		name := p.fullName(s.NodeName)
		s.lateVolumes[name] = true
		s.note("volumes of %s do not come for %s", p.Name, e.For)
		s.later(e.For, func() { delete(s.lateVolumes, name) })
		if e.N%2 == 0 {
			stopp(s, e)
		}
		crash(s, Event{Pod: e.Pod, Container: e.Container, N: 1})
	},
	"api-away": func(s *scene, e Event) {
		s.api = false
		s.note("the API server is away for %s", e.For)
		s.later(e.For, func() {
			s.api = true
			s.note("the API server is back")
			s.apiUp.broadcast(&s.sim)
		})
	},
	"api-pod-gone": func(s *scene, e Event) {
		if len(s.others) > 0 && s.api {
			s.others = s.others[1:]
			s.apiUp.broadcast(&s.sim)
		}
	},
}
