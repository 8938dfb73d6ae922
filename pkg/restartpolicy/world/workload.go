//go:build world

package world

import (
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// begin lets a container's process run, and end by itself if that is its way.
func (w *World) begin(k *container) {
	k.process, k.monitor, k.life = node.ProcessAlive, true, k.life+1
	w.crio.pids++
	k.pid = 1000 + w.crio.pids
	lives := k.spec.Lives
	if lives == 0 && k.pods.init(k.spec.Name) && !k.spec.Sidecar {
		lives = 500 * time.Millisecond
	}
	if lives == 0 {
		return
	}
	life := k.life
	w.sim.after(lives, func() {
		if k.life == life {
			w.end(k, k.spec.Code, reasonOf(k.spec.Code))
		}
	})
}

func reasonOf(code int32) string {
	if code == 0 {
		return "Completed"
	}
	return "Error"
}

// end ends a container's process. Its monitor notes how, and CRI-O reads the
// note as soon as it can; without a monitor nobody ever learns.
func (w *World) end(k *container, code int32, reason string) {
	if k.process != node.ProcessAlive || k.state != node.ContainerRunning {
		return
	}
	k.process, k.life = node.ProcessGone, k.life+1
	w.crio.version++
	k.died.broadcast(&w.sim)
	if !k.monitor {
		return
	}
	k.exit = &exit{at: w.wall(), code: code, reason: reason}
	w.sim.after(50*time.Millisecond, func() {
		if w.crio.answers() {
			w.crio.learn(k)
		}
	})
}

// kill is SIGKILL to a container's first process, from outside.
func (w *World) kill(k *container) { w.end(k, 137, "Error") }

// loseExit kills the monitor first, and then the container.
func (w *World) loseExit(k *container) {
	k.monitor = false
	w.kill(k)
}
