//go:build world

package world

import (
	"fmt"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// Profile is the kind of node: what is set once.
type Profile struct {
	// Version is the kubelet's: "1.30.14", "1.33.13", "1.37.2".
	Version string
	// NodeName is the kubelet's, and Override whether a flag says so.
	NodeName string
	Override bool
	// View is whether /pods answers us; on 1.37 the Pods API answers while all
	// sources are ready.
	View bool
	// Verbose is --v=2 or more. Journal is whether its journal can be read.
	Verbose, Journal bool
	// Standalone is a kubelet without a kubeconfig: no API source.
	Standalone bool
	// Watch is whether it can watch the manifests (inotify); else it lists them
	// every 20 s.
	Watch bool
	// OpenShift has long stop time-outs, Requires a kubelet that needs CRI-O.
	OpenShift, Requires bool
	// Monitors is set where conmon lives in CRI-O's own control group.
	Monitors bool
	KillMode string
	// NoHealthz is healthzPort: 0.
	NoHealthz bool
	// MaxPods bounds the pods; 0 for 110.
	MaxPods int
	// MaxBackOff is crashLoopBackOff.maxContainerRestartPeriod (1.35 and later).
	MaxBackOff time.Duration
	// Interval is the agent's.
	Interval time.Duration
}

// World is one node in simulated time.
type World struct {
	Profile
	sim     sim
	seed    uint64
	slow    float64
	kubelet *kubelet
	crio    *crio
	disk    *disk
	agent   *agent
	admin   *process
	epoch   time.Time     // wall clock at boot
	offset  time.Duration // clock steps since
	// stepped is when the wall clock was last set.
	stepped time.Duration
	// api tells whether the API server answers; labels whether it gives the node
	// the label that pods with a selector want.
	api    bool
	labels bool
	apiUp  cond
	// others are pods that the API server has assigned to the node.
	others []*Pod
	// images are those that the runtime has; registry tells whether one can be
	// pulled, and pulls how long it takes.
	images   map[string]bool
	stored   int // versions of images
	registry bool
	pulls    map[string]time.Duration
	// systemdSilent, hostUnknown, shutdown, paused, busy and programs are what
	// the host says.
	systemdSilent, hostUnknown, shutdown bool
	// graceful is a kubelet that ends its pods when a shutdown is announced.
	graceful bool
	paused   string
	busy     []string
	// elsewhere is a kubelet in another unit than the configured one, unitless a
	// runtime without one.
	elsewhere, unitless bool
	// denied is CRI closed to us alone, tooLarge a list that we cannot take.
	denied, tooLarge bool
	bootID           string
	// booted is when the present boot began.
	booted time.Duration
	// lateVolumes are pods whose volumes do not come, busyVolumes those whose
	// volumes cannot be taken down, by UID of the worker's process.
	lateVolumes map[node.PodName]bool
	busyVolumes map[string]*process
	// hookHangs is how long the next postStart hook of a container takes.
	hookHangs map[string]time.Duration
	// manifestSlow is how long a registry takes to answer for an image that is
	// there already (imagePullPolicy Always); 0 for the usual.
	manifestSlow time.Duration
	// timeline is what happened, for people; nil while nobody asks.
	timeline *[]string
}

// wall is the wall clock.
func (w *World) wall() time.Time { return w.epoch.Add(w.sim.now + w.offset) }

// boot is a time on the boot clock; 0 stays 0.
func (w *World) boot(t time.Duration) time.Duration {
	if t == 0 {
		return 0
	}
	return max(1, t-w.booted)
}

// reboot ends everything that runs, and begins again with what is on disk.
func (w *World) reboot() {
	w.agent.end()
	w.admin.kill()
	w.admin = &process{sim: &w.sim}
	for _, u := range []*unit{w.kubelet.unit, w.crio.unit} {
		u.timer++
		u.pid, u.restarts, u.inactiveSince, u.job, u.lastJob = 0, 0, 0, false, node.Job{}
		u.active, u.sub, u.result, u.broken, u.stuck = "inactive", "dead", "success", false, false
		u.die()
	}
	for _, sb := range w.crio.sandboxes {
		sb.ready, sb.ending = false, false
		if sb.infra != node.ProcessUnknown {
			sb.infra = node.ProcessGone
		}
		for _, k := range sb.containers {
			k.process, k.exit, k.life, k.frozen = node.ProcessGone, nil, k.life+1, false
		}
	}
	w.crio.version++
	w.busyVolumes, w.hookHangs, w.crio.hangs = map[string]*process{}, map[string]time.Duration{}, nil
	w.kubelet.told = newTold()
	w.booted, w.bootID = w.sim.now, w.bootID+"+"
	w.agent.observer = &observer{w: w}
	w.agent.history = zeroHistory()
	boot := w.bootID
	for after, do := range map[time.Duration]func(){20 * time.Second: w.crio.unit.begin, 25 * time.Second: w.kubelet.unit.begin, 30 * time.Second: w.agent.begin} {
		w.sim.after(after, func() {
			if w.bootID == boot {
				do()
			}
		})
	}
}

// note enters a line in the timeline.
func (w *World) note(format string, args ...any) {
	if w.timeline == nil {
		return
	}
	*w.timeline = append(*w.timeline, fmt.Sprintf("%8s  ", clock(w.sim.now))+fmt.Sprintf(format, args...))
}

// clock is h:mm:ss since boot.
func clock(d time.Duration) string {
	s := int(d / time.Second)
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// stream is a source of random numbers for one thing of this world.
func (w *World) stream(name string) *stream { return newStream(w.seed, name, w.slow) }

// newWorld is a node that has just booted.
func newWorld(p Profile, seed uint64, slow float64) *World {
	w := &World{
		Profile: p, seed: seed, slow: slow, bootID: "boot-1", api: true, labels: true, registry: true,
		epoch:  time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		images: map[string]bool{}, pulls: map[string]time.Duration{},
		lateVolumes: map[node.PodName]bool{}, busyVolumes: map[string]*process{}, hookHangs: map[string]time.Duration{},
	}
	w.admin = &process{sim: &w.sim}
	w.disk = &disk{w: w, files: map[string]*file{}}
	w.crio = &crio{w: w, dirty: map[string]bool{}, reserved: map[string]bool{}, network: true, down: true}
	w.crio.unit = &unit{w: w, name: "crio.service", load: "loaded", active: "inactive", sub: "dead", killMode: p.KillMode, ends: 200 * time.Millisecond}
	w.crio.process = &process{sim: &w.sim, dead: true}
	w.kubelet = newKubelet(w)
	w.crio.unit.launch = w.crio.launch
	w.crio.unit.die = func() {
		w.crio.die()
		if w.Monitors && p.KillMode != "process" {
			w.endAll()
		}
	}
	w.crio.unit.stopped = func() bool { return w.crio.process.stopped }
	w.crio.unit.cont = func() { w.contCRIO() }
	return w
}

// store puts an image into the runtime, or takes it out.
func (w *World) store(image string, there bool) {
	w.images[image] = there
	w.stored++
}

// endAll ends every container of the node, with its monitor.
func (w *World) endAll() {
	for _, sb := range w.crio.sandboxes {
		for _, k := range sb.containers {
			w.end(k, 0, "Completed")
		}
	}
}

// contCRIO is SIGCONT to CRI-O.
func (w *World) contCRIO() {
	if !w.crio.process.stopped {
		return
	}
	w.crio.process.resume()
	for _, sb := range w.crio.sandboxes {
		for _, k := range sb.containers {
			w.crio.learn(k)
		}
	}
	w.crio.touch(nil)
}

func (w *World) volumeLate(name node.PodName) bool { return w.lateVolumes[name] }

// volumeBusy tells that the volumes of an ended pod cannot be taken down, as
// far as this process of the kubelet knows: a new one knows nothing of them.
func (w *World) volumeBusy(q *worker) bool { return w.busyVolumes[q.uid] == q.k.process }

// by lets somebody do something that takes time.
func (w *World) by(do func(*task)) { w.admin.start(do) }

// running finds the newest running record of a container.
func (w *World) running(p *Pod, name string) *container {
	var found *container
	for _, sb := range w.crio.sandboxes {
		if sb.name != p.fullName(w.NodeName) {
			continue
		}
		for _, k := range sb.containers {
			if k.spec.Name == name && k.state == node.ContainerRunning && k.process == node.ProcessAlive {
				if found == nil || k.created.After(found.created) {
					found = k
				}
			}
		}
	}
	return found
}

// done tells that a container runs, or has ended as its pod's policy wants.
func (w *World) done(p *Pod, name string) bool {
	var last *container
	for _, sb := range w.crio.sandboxes {
		if sb.name != p.fullName(w.NodeName) {
			continue
		}
		for _, k := range sb.containers {
			if k.spec.Name == name && (last == nil || k.attempt >= last.attempt) {
				last = k
			}
		}
	}
	switch {
	case last == nil:
		return false
	case last.state == node.ContainerRunning:
		return last.process == node.ProcessAlive
	}
	return last.state == node.ContainerExited && (p.Policy == "Never" || p.Policy == "OnFailure" && last.code == 0)
}

// initialised tells that a regular container of a pod has been made.
func (w *World) initialised(p *Pod) bool {
	for _, sb := range w.crio.sandboxes {
		for _, k := range sb.containers {
			if sb.name == p.fullName(w.NodeName) && sb.ready && !p.init(k.spec.Name) {
				return true
			}
		}
	}
	return false
}

// sandboxOf finds the ready sandbox of a pod.
func (w *World) sandboxOf(p *Pod) *sandbox {
	for _, sb := range w.crio.sandboxes {
		if sb.name == p.fullName(w.NodeName) && sb.ready {
			return sb
		}
	}
	return nil
}
