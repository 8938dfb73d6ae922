//go:build world

package world

import (
	"fmt"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// ofAdmins are what people, and programs that stand in for them, do to a node.
var ofAdmins = map[string]func(*scene, Event){
	"rollout": func(s *scene, e Event) {
		if !s.healthy() || s.gone[s.static(e)] {
			return
		}
		s.edit(e, func(p *Pod) {
			if e.N%4 == 0 {
				p.UID = digest("fallback", p.Name, fmt.Sprint(p.Revision))
			}
		})
	},
	"comment": func(s *scene, e Event) {
		p := s.pods[s.static(e)]
		if f := s.disk.find(p.Name); f != nil {
			s.note("a comment in the manifest of %s changes", p.Name)
			c := p.clone()
			c.Comment++
			s.pods[s.static(e)] = c
			s.disk.write(c, s.wall())
		}
	},
	"out-and-in": func(s *scene, e Event) {
		if !s.healthy() {
			return
		}
		p := s.pods[s.static(e)]
		if f := s.disk.move(p.Name); f != nil {
			s.note("the manifest of %s is moved away for %s", p.Name, e.For)
			s.later(e.For, func() { s.disk.back(f) })
		}
	},
	"remove": func(s *scene, e Event) {
		p := s.pods[s.static(e)]
		if s.disk.move(p.Name) != nil {
			s.gone[s.static(e)] = true
			s.note("the manifest of %s is removed", p.Name)
		}
	},
	"opt-out": func(s *scene, e Event) {
		if s.healthy() && !s.gone[s.static(e)] {
			s.edit(e, func(p *Pod) { p.OptOut = true })
		}
	},
	"stop-kubelet": func(s *scene, e Event) {
		if s.kubelet.unit.pid == 0 {
			return
		}
		s.note("an admin stops the kubelet for %s", e.For)
		s.by(func(t *task) {
			s.kubelet.unit.ends = time.Duration(e.N%3) * 95 * time.Second
			s.kubelet.unit.stop(t)
			s.kubelet.unit.ends = 100 * time.Millisecond
			t.sleep(e.For)
			s.note("the admin starts it")
			s.kubelet.unit.start(t)
		})
	},
	"restart-kubelet": func(s *scene, e Event) {
		s.note("an admin restarts the kubelet")
		s.by(s.kubelet.unit.restart)
	},
	"restart-runtime": func(s *scene, e Event) {
		if s.Monitors && s.KillMode != "process" {
			return
		}
		s.note("an admin restarts CRI-O")
		s.by(s.crio.unit.restart)
	},
	"stop-runtime": func(s *scene, e Event) {
		if s.Monitors && s.KillMode != "process" {
			return
		}
		s.note("an admin stops CRI-O for %s", e.For)
		s.by(func(t *task) {
			along := s.Requires && s.kubelet.unit.pid > 0
			if along {
				s.kubelet.unit.stop(t)
			}
			s.crio.unit.ends = time.Duration(e.N%3) * 95 * time.Second
			s.crio.unit.stop(t)
			s.crio.unit.ends = 200 * time.Millisecond
			t.sleep(e.For)
			s.note("the admin starts it")
			s.crio.unit.start(t)
			if along {
				s.kubelet.unit.start(t)
			}
		})
	},
	"crictl-stop": func(s *scene, e Event) {
		p, c := s.pick(e)
		if k := s.running(p, c.Name); k != nil && s.crio.answers() {
			s.note("crictl stop of %s of %s", c.Name, p.Name)
			s.by(func(t *task) {
				_ = s.crio.ask(t, callLimit, func(o *task) error { return s.crio.halt(o, k, time.Duration(e.N%30)*time.Second) })
			})
		}
	},
	"crictl-rm": func(s *scene, e Event) {
		p, c := s.pick(e)
		for _, sb := range s.crio.sandboxes {
			for _, k := range sb.containers {
				if sb.name != p.fullName(s.NodeName) || k.spec.Name != c.Name || k.state != node.ContainerExited {
					continue
				}
				s.note("crictl rm of %s", k.id)
				s.by(func(t *task) {
					_ = s.crio.ask(t, callLimit, func(o *task) error { return s.crio.remove(o, k) })
				})
				return
			}
		}
	},
	"crictl-stopp": stopp,
	"crictl-rmp": func(s *scene, e Event) {
		p, _ := s.pick(e)
		if sb := s.sandboxOf(p); sb != nil && s.crio.answers() {
			s.note("crictl rmp of %s", p.Name)
			s.by(func(t *task) {
				_ = s.crio.ask(t, callLimit, func(o *task) error { return s.crio.removePodSandbox(o, sb) })
			})
		}
	},
	"agent-restart": func(s *scene, e Event) {
		s.note("the agent is restarted (history lost: %v)", e.N%2 == 0)
		s.agent.end()
		if e.N%2 == 0 {
			s.agent.history = zeroHistory()
		}
		s.later(time.Second+e.For, s.agent.begin)
	},
	"paused": func(s *scene, e Event) {
		s.paused = "until later"
		s.later(e.For, func() { s.paused = "" })
	},
	"foreign-container": func(s *scene, e Event) {
		sb := &sandbox{id: s.crio.id("foreign-"), ready: true, created: s.wall(), infra: node.ProcessAlive}
		k := &container{id: s.crio.id("foreign-"), sandbox: sb, spec: &Container{Name: "build"}, created: s.wall(), state: node.ContainerCreated, pods: &Pod{}}
		if e.N%2 == 0 {
			k.state, k.process, k.monitor = node.ContainerRunning, node.ProcessAlive, true
		}
		sb.containers = append(sb.containers, k)
		s.crio.sandboxes = append(s.crio.sandboxes, sb)
		s.crio.touch(nil)
	},
	"refused": func(s *scene, e Event) {
		p := &Pod{Namespace: "kube-system", Name: fmt.Sprintf("typo%d", e.N%3), Static: true, Policy: "Always", HostNetwork: true, Unseen: e.N%2 == 0,
			Refused: "spec.containers[0].ports[0].containerPort: Invalid value: 70000", Main: []Container{{Name: "main", Image: "typo:1", Pull: "IfNotPresent"}}}
		s.store("typo:1", true)
		s.note("a manifest that the kubelet refuses is put down: %s (known to us: %v)", p.Name, !p.Unseen)
		s.disk.write(p, s.wall())
	},
	"broken": func(s *scene, e Event) {
		p := &Pod{Namespace: "kube-system", Name: "broken", Static: true, Policy: "Always", Main: []Container{{Name: "main", Image: "x:1"}}}
		s.disk.write(p, s.wall())
		s.disk.find("broken").broken = "yaml: line 3: mapping values are not allowed in this context"
	},
	"reboot": func(s *scene, e Event) {
		s.note("the node is rebooted")
		s.reboot()
	},
	// An older revision is put back as it was, with its old date.
	"revert": func(s *scene, e Event) {
		if !s.healthy() || s.gone[s.static(e)] {
			return
		}
		old := s.disk.find(s.pods[s.static(e)].Name)
		s.edit(e, nil)
		s.later(e.For, func() {
			if old != nil && s.healthy() && s.disk.move(old.pod.Name) != nil {
				s.note("the manifest of %s is put back as it was", old.pod.Name)
				s.pods[s.static(e)] = old.pod
				s.disk.back(old)
			}
		})
	},
}
