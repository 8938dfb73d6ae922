//go:build world

package world

import (
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// incurable are what nothing that the agent may do cures.
var incurable = map[string]*fault{
	"host-port": {
		prepare: func(sc *Scenario, r *stream) {
			onlyAlways(sc, r)
			late := plainPod("zz-late")
			sc.Pods[0].HostPort, late.HostPort = 6443, 6443
			sc.Pods = append(sc.Pods, late)
		},
		inject: func(s *scene, e Event) {},
	},
	"image-missing": {
		prepare: onlyAlways,
		inject: func(s *scene, e Event) {
			_, c := s.main(e)
			s.store(c.Image, false)
			s.registry = false
			crash(s, Event{Pod: e.Pod, Container: len(s.pods[e.Pod%len(s.pods)].Init) + e.Container%len(s.pods[e.Pod%len(s.pods)].Main), N: 1})
		},
	},
	"registry-missing": {
		inject: func(s *scene, e Event) { s.registry = false; crash(s, Event{Pod: e.Pod, Container: e.Container, N: 1}) },
	},
	"network-missing": {
		prepare: func(sc *Scenario, r *stream) { sc.Pods[0].HostNetwork = false },
		inject: func(s *scene, e Event) {
			s.crio.network = false
			stopp(s, Event{Pod: 0})
		},
	},
	"volumes-missing": {
		prepare: func(sc *Scenario, r *stream) {
			sc.Version, sc.Standalone = "1.33.13", false
			for _, p := range sc.Pods {
				p.Volume = "secret"
			}
		},
		inject: func(s *scene, e Event) {
			s.lateVolumes[s.pods[e.Pod%len(s.pods)].fullName(s.NodeName)] = true
			crash(s, Event{Pod: e.Pod, Container: e.Container, N: 1})
		},
	},
	"selector": {
		prepare: func(sc *Scenario, r *stream) { sc.Standalone = false; sc.Pods[0].Selector = true },
		inject: func(s *scene, e Event) {
			s.api = false
			s.by(s.kubelet.unit.restart)
		},
	},
	"no-room": {
		prepare: func(sc *Scenario, r *stream) {
			onlyAlways(sc, r)
			sc.MaxPods = len(sc.Pods)
			sc.Pods = append(sc.Pods, plainPod("zz-late"))
		},
		inject: func(s *scene, e Event) {},
	},
	"kubelet-crash-loops": {
		inject: func(s *scene, e Event) {
			s.kubelet.unit.broken = true
			s.kubelet.unit.exited("exit-code")
			crashLater(s, e)
		},
	},
	"kubelet-in-state-d": {
		inject: func(s *scene, e Event) {
			s.kubelet.unit.stuck = true
			s.kubelet.process.stop()
			crashLater(s, e)
		},
	},
	"runtime-stopped-with-its-monitors": {
		prepare: func(sc *Scenario, r *stream) { sc.Monitors, sc.KillMode = true, "control-group" },
		inject:  func(s *scene, e Event) { s.crio.process.stop() },
	},
	"frozen": {
		inject: func(s *scene, e Event) {
			p, c := s.main(e)
			if k := s.running(p, c.Name); k != nil {
				k.frozen = true
				s.crio.version++
			}
		},
	},
	"crash-loop-for-ever": {
		inject: func(s *scene, e Event) {
			p, c := s.main(e)
			c.Lives, c.Code = time.Duration(1+e.N%20)*time.Second, 1
			if k := s.running(p, c.Name); k != nil {
				s.kill(k)
			}
		},
	},
	"every-act-fails": {
		prepare: func(sc *Scenario, r *stream) {
			onlyAlways(sc, r)
			sc.Fails = map[restartpolicy.StepKind]int{}
			for _, kind := range restartpolicy.Steps {
				sc.Fails[kind] = 1000
			}
		},
		inject: func(s *scene, e Event) {
			switch e.N % 4 {
			case 0:
				s.kubelet.process.stop()
			case 1:
				s.crio.process.stop()
			case 2:
				crash(s, Event{Pod: e.Pod, Container: e.Container, N: 1})
				for _, q := range s.kubelet.workers {
					q.stuck = true
				}
			case 3:
				if k := s.running(s.pods[0], s.pods[0].Main[0].Name); k != nil {
					s.loseExit(k)
				}
			}
		},
	},
}
