//go:build world

package world

import (
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// unit is a service of systemd, with Restart=always and RestartSec=10 for the
// kubelet, and Restart=on-failure for CRI-O.
type unit struct {
	w    *World
	name string
	load string
	// active, sub and result are systemd's words.
	active, sub, result string
	pid                 int
	started             time.Duration
	restarts            uint32
	killMode            string
	inactiveSince       time.Duration
	lastJob             node.Job
	job                 bool
	// broken lets a new process die within a second, again and again.
	broken bool
	// ends is how long its process takes to end after SIGTERM.
	ends time.Duration
	// stuck is set while its process is in uninterruptible sleep.
	stuck bool
	// timer numbers pending automatic restarts.
	timer int
	// launch and die begin and end the program.
	launch, die func()
	// stopped tells whether the program is stopped by a signal; cont is SIGCONT.
	stopped func() bool
	cont    func()
	changed cond
}

// restartSec is RestartSec: 10 s for the kubelet, systemd's 100 ms for CRI-O.
func (u *unit) restartSec() time.Duration {
	if u == u.w.kubelet.unit {
		return 10 * time.Second
	}
	return 100 * time.Millisecond
}

// stopTimeout is DefaultTimeoutStopSec: 90 s, and 200 s on OpenShift.
func (u *unit) stopTimeout() time.Duration {
	if u.w.OpenShift {
		return 200 * time.Second
	}
	return 90 * time.Second
}

// begin starts the program.
func (u *unit) begin() {
	if u.pid > 0 {
		return
	}
	u.timer++
	u.w.crio.pids++
	u.pid = 2000 + u.w.crio.pids
	u.started = u.w.sim.now
	u.active, u.sub, u.result = "active", "running", "success"
	if u.broken {
		pid := u.pid
		u.w.sim.after(800*time.Millisecond, func() {
			if u.pid == pid {
				u.exited("exit-code")
			}
		})
		u.changed.broadcast(&u.w.sim)
		return
	}
	u.launch()
	u.changed.broadcast(&u.w.sim)
}

// exited is the end of the program that nobody asked for: systemd starts it
// again.
func (u *unit) exited(result string) {
	if u.pid == 0 {
		return
	}
	u.pid = 0
	u.die()
	u.active, u.sub, u.result = "activating", "auto-restart", result
	u.inactiveSince = u.w.sim.now
	u.timer++
	timer := u.timer
	u.w.sim.after(u.restartSec(), func() {
		if u.timer != timer {
			return
		}
		u.restarts++
		u.begin()
		if k := u.w.kubelet.unit; u == u.w.crio.unit && u.w.Requires && k.pid > 0 {
			// Requires= takes the kubelet along, and NRestarts does not count it.
			u.w.by(func(t *task) { k.halt(t); k.start(t) })
		}
	})
	u.changed.broadcast(&u.w.sim)
}

// halt is a stop job: SIGTERM and SIGCONT, and SIGKILL when the time is over.
// It tells whether the process has ended.
func (u *unit) halt(t *task) bool {
	u.timer++
	if u.pid == 0 {
		return true
	}
	u.job = true
	u.active, u.sub = "deactivating", "stop-sigterm"
	if u.stuck {
		u.sub = "stop-sigkill"
		for u.stuck {
			t.sleep(time.Second)
		}
	}
	takes := u.ends
	if u.stopped() {
		u.cont()
		takes = 500 * time.Millisecond
	}
	t.sleep(min(takes, u.stopTimeout()))
	if u.pid > 0 {
		u.pid = 0
		u.die()
	}
	u.job = false
	u.inactiveSince = u.w.sim.now
	return true
}

// stop is systemctl stop, to its end.
func (u *unit) stop(t *task) {
	killed := u.ends > u.stopTimeout()
	u.halt(t)
	u.active, u.sub, u.result = "inactive", "dead", "success"
	if killed {
		u.active, u.sub, u.result = "failed", "failed", "timeout"
	}
	u.lastJob = node.Job{Type: "stop", Result: "done", Finished: u.w.sim.now}
	u.changed.broadcast(&u.w.sim)
}

// start is systemctl start.
func (u *unit) start(t *task) {
	if u.load == "masked" {
		return
	}
	t.sleep(50 * time.Millisecond)
	u.restarts = 0
	if u.pid == 0 {
		u.begin()
	}
	u.lastJob = node.Job{Type: "start", Result: "done", Finished: u.w.sim.now}
}

// restart is systemctl restart. With Requires= a restart of CRI-O takes the
// kubelet along, if that is up.
func (u *unit) restart(t *task) {
	along := u == u.w.crio.unit && u.w.Requires && u.w.kubelet.unit.pid > 0
	if along {
		k := u.w.kubelet.unit
		k.halt(t)
		k.active, k.sub = "inactive", "dead"
	}
	u.halt(t)
	u.restarts = 0
	t.sleep(100 * time.Millisecond)
	u.begin()
	u.lastJob = node.Job{Type: "restart", Result: "done", Finished: u.w.sim.now}
	if along {
		t.sleep(time.Second)
		u.w.kubelet.unit.start(t)
	}
}

// snapshot is what systemd says of the unit.
func (u *unit) snapshot() node.Unit {
	if u.w.systemdSilent {
		return node.Unit{Name: u.name, Err: errDeadline}
	}
	s := node.Unit{
		Name: u.name, LoadState: u.load, ActiveState: u.active, SubState: u.sub, Result: u.result, UnitFileState: "enabled",
		MainPID: u.pid, Restarts: u.restarts, KillMode: u.killMode, ControlGroup: "/system.slice/" + u.name,
		InactiveSince: u.w.boot(u.inactiveSince), JobPending: u.job,
	}
	if u.load == "masked" {
		s.UnitFileState = "masked"
	}
	if u.pid > 0 {
		s.ProcessStarted, s.ProcessState = u.w.boot(u.started), u.state()
	}
	if u.active == "inactive" && u == u.w.kubelet.unit {
		s.LastJob = u.lastJob
		s.LastJob.Finished = u.w.boot(u.lastJob.Finished)
	}
	return s
}

// state is the letter of /proc.
func (u *unit) state() string {
	switch {
	case u.pid == 0:
		return ""
	case u.stuck:
		return "D"
	case u.stopped():
		return "T"
	}
	return "S"
}
