//go:build world

package world

import (
	"errors"
	"sort"
	"strconv"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// crio is the container runtime: its records, and the calls that it carries
// out. Who asks may go away before it has done.
type crio struct {
	w         *World
	unit      *unit
	process   *process
	sandboxes []*sandbox
	// serial numbers records and processes.
	serial, pids int
	// changed wakes the kubelet's lister; dirty are the pods that changed.
	changed cond
	dirty   map[string]bool
	version int
	// calls are OCI runtime processes in flight.
	calls []*call
	// reserved are names of creations in progress.
	reserved map[string]bool
	// ended is broadcast when the daemon ends: calls of its clients fail.
	ended cond
	// hangs tells OCI calls of a verb to take longer, one at a time.
	hangs []hang
	// down is set while the daemon does not run.
	down bool
	// slow is what a list takes beside the usual.
	slow time.Duration
	// network is whether its CNI plugin is there.
	network bool
	cached  []node.Sandbox
	at      int
}

// hang makes the next OCI calls of a verb on a pod's containers take long.
type hang struct {
	verb  string
	pod   node.PodName // the zero value for any
	takes time.Duration
	times int
	// daemon is the process of CRI-O that is so; nil for any.
	daemon *process
}

// call is one OCI runtime process.
type call struct {
	pid   int
	verb  string
	id    string
	since time.Duration
	// killed is set when somebody ends the process.
	killed bool
	done   cond
}

// sandbox is one pod sandbox.
type sandbox struct {
	id      string
	pod     *Pod
	name    node.PodName
	uid     string
	attempt uint32
	ready   bool
	created time.Time
	// infra is the state of its own process; unknown where it has none.
	infra      node.ProcessState
	containers []*container
	// ending is set while the kubelet ends it as an orphan.
	ending bool
}

// container is one record: one attempt of one container.
type container struct {
	id       string
	sandbox  *sandbox
	spec     *Container
	attempt  uint32
	state    node.ContainerState
	created  time.Time
	started  time.Time
	finished time.Time
	code     int32
	reason   string
	// process is the container's init, monitor its conmon.
	process node.ProcessState
	monitor bool
	pid     int
	frozen  bool
	// exit is what conmon has noted and CRI-O has not read yet.
	exit *exit
	// busy is set while a call works on the record; others wait.
	busy  bool
	freed cond
	// died wakes whoever waits for its process to end.
	died cond
	// ends is by when a stop that is in hand has ended; 0 for none.
	ends time.Duration
	life int // numbers its lives, so that a stale end is none
	// slowStatus is set for a record whose exit file never came (measured: each
	// status takes 3.8 s).
	slowStatus bool
	// lost is set for a record whose status cannot be had.
	statusLost bool
	pods       *Pod
}

type exit struct {
	at     time.Time
	code   int32
	reason string
}

var (
	errRefused  = errors.New("connection refused")
	errClosed   = errors.New("transport is closing")
	errDeadline = errors.New("context deadline exceeded")
)

func (c *crio) touch(sb *sandbox) {
	c.version++
	if sb != nil {
		c.dirty[sb.uid] = true
	}
	c.changed.broadcast(&c.w.sim)
}

// answers tells whether a client gets an answer.
func (c *crio) answers() bool { return !c.down && !c.process.stopped }

// ask is a call of a client: CRI-O carries it out to its end, whether or not
// the client still waits for it.
func (c *crio) ask(t *task, deadline time.Duration, do func(*task) error) error {
	if c.down {
		t.sleep(10 * time.Millisecond)
		return errRefused
	}
	var done cond
	var err error
	finished := false
	daemon := c.process
	daemon.start(func(o *task) {
		err = do(o)
		finished = true
		done.broadcast(o.sim)
	})
	until := t.sim.now + deadline
	for !finished {
		if daemon.dead {
			return errClosed
		}
		c.ended.waiting = append(c.ended.waiting, &event{task: t, wakeUp: t.wakeUp})
		if !t.awaitUntil(&done, until) && !finished {
			return errDeadline
		}
	}
	return err
}

// run is one OCI runtime process. It tells whether it did its work.
func (c *crio) run(o *task, verb string, sb *sandbox, id string, takes time.Duration) bool {
	for i := range c.hangs {
		h := &c.hangs[i]
		if h.verb == verb && h.times > 0 && (h.daemon == nil || h.daemon == c.process) && (h.pod == node.PodName{} || h.pod == sb.name) {
			h.times--
			takes = h.takes
			break
		}
	}
	c.pids++
	k := &call{pid: 50000 + c.pids, verb: verb, id: id, since: o.sim.now}
	c.calls = append(c.calls, k)
	until := o.sim.now + takes
	for !k.killed && o.awaitUntil(&k.done, until) {
	}
	c.forget(k)
	return !k.killed
}

func (c *crio) forget(k *call) {
	for i, other := range c.calls {
		if other == k {
			c.calls = append(c.calls[:i:i], c.calls[i+1:]...)
			return
		}
	}
}

func (c *crio) id(prefix string) string {
	c.serial++
	return prefix + strconv.Itoa(c.serial)
}

// of are the sandboxes of a UID, newest first, as the kubelet has them.
func (c *crio) of(uid string) []*sandbox {
	var out []*sandbox
	for _, sb := range c.sandboxes {
		if sb.uid == uid {
			out = append(out, sb)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].created.After(out[j].created) })
	return out
}

// records are the containers of a UID, newest first by creation date: that is
// how the kubelet sorts them (kuberuntime_container.go getPodContainerStatuses).
func (c *crio) records(uid string) []*container {
	var out []*container
	for _, sb := range c.sandboxes {
		if sb.uid == uid {
			out = append(out, sb.containers...)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].created.After(out[j].created) })
	return out
}

func newest(of []*container, name string) *container {
	for _, k := range of {
		if k.spec.Name == name {
			return k
		}
	}
	return nil
}

// locked tells whether a call works on some record: who asks for each of them
// waits.
func (c *crio) locked() *container {
	for _, sb := range c.sandboxes {
		for _, k := range sb.containers {
			if k.busy {
				return k
			}
		}
	}
	return nil
}

// die ends the daemon. Monitors and containers live on, unless they are in the
// unit's own control group.
func (c *crio) die() {
	c.down = true
	c.process.kill()
	c.calls = nil
	c.reserved = map[string]bool{}
	for _, sb := range c.sandboxes {
		for _, k := range sb.containers {
			k.busy, k.ends = false, 0
			k.freed.broadcast(&c.w.sim)
		}
	}
	c.ended.broadcast(&c.w.sim)
	c.touch(nil)
}

// launch begins a new daemon, which reads what the monitors have noted.
func (c *crio) launch() {
	c.process = &process{sim: &c.w.sim}
	c.down = false
	for _, sb := range c.sandboxes {
		if sb.infra == node.ProcessGone {
			sb.ready = false
		}
		for _, k := range sb.containers {
			c.learn(k)
			if k.state == node.ContainerRunning && k.process != node.ProcessAlive {
				// No exit file: the end is dated nowhere (measured: 1754-08-30).
				k.state, k.code, k.finished = node.ContainerExited, -1, time.Unix(0, -6795364578871345152)
			}
		}
		c.dirty[sb.uid] = true
	}
	c.touch(nil)
}

// learn reads the exit file of a container.
func (c *crio) learn(k *container) {
	if k.exit == nil || k.state != node.ContainerRunning {
		return
	}
	k.state, k.code, k.reason, k.finished = node.ContainerExited, k.exit.code, k.exit.reason, k.exit.at
	k.exit = nil
	c.touch(k.sandbox)
}
