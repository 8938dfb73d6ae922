//go:build world

package world

import (
	"fmt"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// curable are faults that one step cures, by name. The letters are those of
// the catalogue of failures.
var curable = map[string]*fault{
	// A3, kubernetes#105543: the API source is not ready, the manifest changes,
	// and the old revision's container dies.
	"new-revision-waits": {
		prepare: apiNever,
		inject: func(s *scene, e Event) {
			p := s.pods[s.static(e)]
			k := s.running(p, p.Main[e.Container%len(p.Main)].Name)
			s.edit(e, func(p *Pod) {
				if e.N%3 == 0 {
					p.UID = digest("fallback", p.Name, fmt.Sprint(p.Revision))
				}
			})
			s.later(25*time.Second, func() {
				if k != nil {
					s.kill(k)
				}
			})
		},
		want: kubeletStep, also: []restartpolicy.StepKind{restartpolicy.StopOldSandbox},
		within: afterGrace(5 * time.Minute), blind: afterGrace(8 * time.Minute), shows: 30 * time.Second,
	},
	// A4, kubernetes#112814: the manifest changed while the kubelet was down, and
	// the API server does not answer.
	"two-generations": {
		prepare: apiNever,
		inject: func(s *scene, e Event) {
			s.by(func(t *task) {
				s.kubelet.unit.stop(t)
				t.sleep(time.Second)
				s.edit(e, nil)
				t.sleep(time.Second)
				s.kubelet.unit.start(t)
			})
		},
		want:   []restartpolicy.StepKind{restartpolicy.StopOldSandbox},
		within: afterGrace(9 * time.Minute), blind: afterGrace(12 * time.Minute), shows: 10 * time.Second,
	},
	// A6, kubernetes#138391: rejected at admission, and room is made.
	"rejected": {
		prepare: func(sc *Scenario, r *stream) {
			onlyAlways(sc, r)
			sc.MaxPods = len(sc.Pods)
			sc.Pods = append(sc.Pods, plainPod("zz-late"))
		},
		inject: func(s *scene, e Event) {
			s.note("room is made")
			s.MaxPods++
		},
		want: []restartpolicy.StepKind{restartpolicy.RestartKubelet, restartpolicy.ReplaceManifest},
		// The retries have gaps: the reason may be real.
		within: fixed(70 * time.Minute), neverBlind: true, shows: 10 * time.Second,
	},
	// C1, kubernetes#97364: a postStart hook that never returns.
	"hook-hangs": {
		first: true, prepare: func(sc *Scenario, r *stream) {
			onlyAlways(sc, r)
			p := plainPod("hooked")
			p.Main[0].PostStart = time.Second
			p.Main = append(p.Main, plainPod("x").Main[0])
			p.Main[1].Name = "side"
			sc.Pods = append([]*Pod{p}, sc.Pods...)
		},
		inject: func(s *scene, e Event) {
			p := s.pods[0]
			s.hookHangs[p.fullName(s.NodeName).String()+"/"+p.Main[0].Name] = forEver
			for _, c := range p.Main {
				if k := s.running(p, c.Name); k != nil {
					s.kill(k)
				}
			}
		},
		want: kubeletStep, within: fixed(30 * time.Minute), blind: fixed(40 * time.Minute), shows: 10 * time.Second,
	},
	// The pod's worker never comes to its next sync.
	"worker-stuck": {
		prepare: onlyAlways,
		inject: func(s *scene, e Event) {
			p, c := s.main(e)
			if k := s.running(p, c.Name); k != nil {
				if q := s.kubelet.worker(k.sandbox.uid); q != nil {
					q.stuck = true
				}
				s.kill(k)
			}
		},
		want: kubeletStep, within: afterGrace(7 * time.Minute), blind: afterGrace(10 * time.Minute), shows: 10 * time.Second,
	},
	// D1, cri-o#6295: the monitor and the container killed.
	"lost-exit": {
		prepare: onlyAlways,
		inject: func(s *scene, e Event) {
			p, c := s.main(e)
			if k := s.running(p, c.Name); k != nil {
				s.loseExit(k)
			}
		},
		want:   []restartpolicy.StepKind{restartpolicy.StopContainer},
		within: fixed(4 * time.Minute), blind: fixed(4 * time.Minute), shows: 10 * time.Second,
	},
	// The sandbox's own process and its monitor killed.
	"infra-lost": {
		first: true, prepare: func(sc *Scenario, r *stream) { onlyAlways(sc, r); sc.Pods[0].HostNetwork = false },
		inject: func(s *scene, e Event) {
			p := s.pods[0]
			if sb := s.sandboxOf(p); sb != nil {
				sb.infra = node.ProcessGone
				s.crio.version++
				if k := s.running(p, p.Main[0].Name); k != nil {
					s.kill(k)
				}
			}
		},
		want:   []restartpolicy.StepKind{restartpolicy.StopSandbox, restartpolicy.StopOldSandbox},
		within: afterGrace(6 * time.Minute), blind: afterGrace(6 * time.Minute), shows: 10 * time.Second,
	},
	// B2, kubernetes#83050: the clock ran backwards between two attempts.
	"out-of-order": {
		prepare: onlyAlways,
		inject: func(s *scene, e Event) {
			p, c := s.main(e)
			die := func() {
				if k := s.running(p, c.Name); k != nil {
					s.kill(k)
				}
			}
			s.offset += 2 * time.Hour
			die()
			s.later(20*time.Second, func() { s.offset -= 2 * time.Hour; die() })
			s.later(15*time.Minute, die)
		},
		want: []restartpolicy.StepKind{restartpolicy.RemoveContainer}, also: kubeletStep,
		within: fixed(40 * time.Minute), blind: fixed(40 * time.Minute), shows: 21 * time.Second, forgives: true,
	},
	// A start that takes longer than the kubelet waits: two attempts run.
	"two-attempts": {
		prepare: onlyAlways,
		inject: func(s *scene, e Event) {
			p, c := s.main(e)
			s.crio.hangs = append(s.crio.hangs, hang{"start", p.fullName(s.NodeName), 150 * time.Second, 1, nil})
			if k := s.running(p, c.Name); k != nil {
				s.kill(k)
			}
		},
		want:   []restartpolicy.StepKind{restartpolicy.StopContainer},
		within: fixed(12 * time.Minute), blind: fixed(12 * time.Minute), shows: 4 * time.Minute,
	},
	"kubelet-stopped": {
		prepare: onlyAlways,
		inject:  func(s *scene, e Event) { s.kubelet.process.stop(); crashLater(s, e) },
		want:    kubeletStep, within: fixed(5 * time.Minute), blind: fixed(5 * time.Minute), shows: 20 * time.Second,
	},
	"kubelet-given-up": {
		prepare: onlyAlways,
		inject: func(s *scene, e Event) {
			u := s.kubelet.unit
			u.exited("exit-code")
			u.timer++
			u.active, u.sub, u.result = "failed", "failed", "start-limit-hit"
			crashLater(s, e)
		},
		want: kubeletStep, within: fixed(5 * time.Minute), blind: fixed(5 * time.Minute), shows: 20 * time.Second,
	},
	"kubelet-lost-to-dependency": {
		prepare: onlyAlways,
		inject: func(s *scene, e Event) {
			u := s.kubelet.unit
			u.exited("success")
			u.timer++
			u.active, u.sub, u.result = "inactive", "dead", "success"
			u.lastJob = node.Job{Type: "start", Result: "dependency", Finished: s.sim.now}
			crashLater(s, e)
		},
		want: kubeletStep, within: fixed(5 * time.Minute), blind: fixed(5 * time.Minute), shows: 20 * time.Second,
	},
	"runtime-stopped": {
		prepare: func(sc *Scenario, r *stream) { onlyAlways(sc, r); sc.KillMode = "process" },
		inject: func(s *scene, e Event) {
			crash(s, Event{Pod: e.Pod, Container: e.Container, N: 1})
			s.crio.process.stop()
		},
		want: runtimeStep, within: fixed(10 * time.Minute), blind: fixed(10 * time.Minute), shows: 20 * time.Second,
	},
	// B6 and a restart of the kubelet: no pod of the node is looked after.
	"kubelet-restarted-in-a-hung-start": {
		prepare: func(sc *Scenario, r *stream) { onlyAlways(sc, r); sc.KillMode = "process" },
		inject: func(s *scene, e Event) {
			p, c := s.main(e)
			s.crio.hangs = append(s.crio.hangs, hang{"start", p.fullName(s.NodeName), forEver, 1, nil})
			if k := s.running(p, c.Name); k != nil {
				s.kill(k)
			}
			s.later(30*time.Second, func() { s.by(s.kubelet.unit.restart) })
		},
		want: runtimeStep, within: fixed(14 * time.Minute), blind: fixed(14 * time.Minute), shows: time.Minute,
	},
	// D4: creations hang, again and again, until CRI-O is restarted.
	"creations-hang": {
		prepare: func(sc *Scenario, r *stream) { onlyAlways(sc, r); sc.KillMode = "process" },
		inject: func(s *scene, e Event) {
			p, c := s.main(e)
			s.crio.hangs = append(s.crio.hangs, hang{"create", p.fullName(s.NodeName), forEver, 1000, s.crio.process})
			if k := s.running(p, c.Name); k != nil {
				s.kill(k)
			}
		},
		want: runtimeStep, within: fixed(30 * time.Minute), blind: fixed(30 * time.Minute), shows: time.Minute,
	},
	// D3 and A2: the stop of an old revision hangs.
	"stop-hangs": {
		prepare: func(sc *Scenario, r *stream) { onlyAlways(sc, r); sc.KillMode = "process" },
		inject: func(s *scene, e Event) {
			p := s.pods[s.static(e)]
			if !s.healthy() {
				return
			}
			s.crio.hangs = append(s.crio.hangs, hang{"kill", p.fullName(s.NodeName), forEver, 1, nil})
			s.edit(e, nil)
		},
		want: runtimeStep, also: kubeletStep, within: afterGrace(20 * time.Minute), blind: afterGrace(25 * time.Minute), shows: time.Minute,
	},
	// A2: volumes of the old revision cannot be taken down.
	"old-volume-busy": {
		prepare: onlyAlways,
		inject: func(s *scene, e Event) {
			p := s.pods[s.static(e)]
			if !s.healthy() {
				return
			}
			s.busyVolumes[s.disk.find(p.Name).uid(s.kubelet.nodeName)] = s.kubelet.process
			s.edit(e, nil)
		},
		want: kubeletStep, within: afterGrace(10 * time.Minute), blind: afterGrace(15 * time.Minute), shows: 30 * time.Second,
	},
	// B1: the status of one record cannot be had; the pod is never synced.
	"record-unreadable": {
		prepare: onlyAlways,
		inject: func(s *scene, e Event) {
			p, c := s.main(e)
			if k := s.running(p, c.Name); k != nil {
				s.kill(k)
				s.later(time.Second/10, func() { k.statusLost = true; s.crio.touch(k.sandbox) })
			}
		},
		want: []restartpolicy.StepKind{restartpolicy.RemoveContainer, restartpolicy.StopSandbox, restartpolicy.RestartRuntime}, also: kubeletStep,
		within: fixed(40 * time.Minute), blind: fixed(40 * time.Minute), shows: time.Minute,
	},
	// The kubelet's file source is dead.
	"manifest-not-read": {
		prepare: onlyAlways,
		inject:  func(s *scene, e Event) { s.kubelet.deaf = true; s.edit(e, nil) },
		want:    kubeletStep, within: afterGrace(20 * time.Minute), neverBlind: true, shows: 30 * time.Second,
	},

	// A7: a shutdown that is announced ends all pods, and is cancelled.
	"shutdown-cancelled": {
		prepare: onlyAlways,
		inject: func(s *scene, e Event) {
			s.shutdown, s.graceful = true, true
			for _, q := range s.kubelet.workers {
				q.evict("Terminated")
			}
			s.later(time.Minute, func() {
				s.note("the shutdown is cancelled")
				s.shutdown = false
			})
		},
		want: kubeletStep, within: afterGrace(10 * time.Minute), neverBlind: true, shows: 70 * time.Second,
	},
}
