//go:build world

package world

import (
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// kubelet is the unit, and what one process of it knows.
type kubelet struct {
	w       *World
	unit    *unit
	process *process
	rand    *stream
	// entered is set once the start-up is over: before, no pod is synced.
	entered bool
	// ready is set once every source of pods has answered. It stays.
	ready bool
	// nodeName is the name that this process has taken.
	nodeName string
	// pods is the pod manager: what the sources want now.
	pods []*known
	// workers by UID, in the order in which they began.
	workers []*worker
	// begun is the UID that has been started of each static pod; waiting are the
	// next in line (pod_workers.go startedStaticPodsByFullname).
	begun   map[node.PodName]string
	waiting map[node.PodName][]string
	// untidy asks for housekeeping.
	untidy  bool
	tidy    cond
	backOff map[string]*backOff
	pulling map[string]*pullBackOff
	told    told
	// version changes with what the view shows.
	version int
	// liveness are containers whose probe has failed, by ID.
	liveness map[string]bool
	// loopDead is set when the sync loop has come to a stop for good.
	loopDead bool
	deaf     bool // the file source is dead: neither watch nor list works
	cached   []node.PodView
	cachedAt int
}

// known is one pod of the pod manager.
type known struct {
	pod    *Pod
	name   node.PodName
	uid    string
	path   string
	reason string // of a rejection
	// status is what /pods shows.
	status node.PodView
	// seen is when this process took it up.
	seen time.Duration
}

// told is the kubelet's journal, as far as it is of use.
type told struct {
	last       time.Duration
	pods       map[node.PodName]node.Said
	containers map[string]node.Said
	// notDeleted is when a static pod could not be let go of.
	notDeleted map[node.PodName]time.Duration
	// synced is since when the sync loop is not skipped: while it is, that is all
	// that is written.
	synced time.Duration
	// refused is since when each manifest is refused, by its path.
	refused map[string]refusal
	version int
}

type refusal struct {
	since   time.Duration
	message string
}

func newTold() told {
	return told{pods: map[node.PodName]node.Said{}, containers: map[string]node.Said{},
		notDeleted: map[node.PodName]time.Duration{}, refused: map[string]refusal{}}
}

func newKubelet(w *World) *kubelet {
	k := &kubelet{w: w, rand: w.stream("kubelet"), process: &process{sim: &w.sim, dead: true}}
	k.told = newTold()
	k.unit = &unit{w: w, name: "kubelet.service", load: "loaded", active: "inactive", sub: "dead", result: "success",
		killMode: "process", ends: 100 * time.Millisecond}
	k.unit.launch = k.launch
	k.unit.die = func() { k.process.kill(); k.entered = false; k.version++ }
	k.unit.stopped = func() bool { return k.process.stopped }
	k.unit.cont = func() { k.process.resume() }
	return k
}

// launch begins a new process, which remembers nothing.
func (k *kubelet) launch() {
	k.process = &process{sim: &k.w.sim}
	k.entered, k.ready, k.loopDead, k.deaf = false, false, false, false
	k.nodeName = k.w.NodeName
	k.pods, k.workers, k.version = nil, nil, k.version+1
	k.begun, k.waiting = map[node.PodName]string{}, map[node.PodName][]string{}
	k.backOff, k.pulling = map[string]*backOff{}, map[string]*pullBackOff{}
	k.liveness = map[string]bool{}
	k.told = newTold()
	k.told.last = k.w.sim.now
	k.process.start(k.run)
}

// run is the start-up. It needs the runtime, and then asks for each container,
// which waits for calls in hand: while a start hangs, or a stop uses its grace,
// no pod of the node is looked after (measured).
func (k *kubelet) run(t *task) {
	t.sleep(k.rand.takes(300*time.Millisecond, 3*time.Second))
	until := t.sim.now + time.Minute
	for !k.w.crio.answers() {
		if t.sim.now >= until {
			k.w.by(func(*task) { k.unit.exited("exit-code") })
			t.sleep(time.Hour)
		}
		t.sleep(time.Second)
	}
	for r := k.w.crio.locked(); r != nil; r = k.w.crio.locked() {
		t.awaitUntil(&r.freed, t.sim.now+time.Minute)
	}
	for !k.w.crio.answers() {
		t.sleep(time.Second)
	}
	k.entered = true
	k.told.synced = t.sim.now
	k.process.start(k.lister)
	k.process.start(k.housekeeping)
	k.process.start(k.collector)
	k.process.start(k.apiSource)
	k.fileSource(t)
}

func (k *kubelet) pod(uid string) *known {
	for _, p := range k.pods {
		if p.uid == uid {
			return p
		}
	}
	return nil
}

func (k *kubelet) worker(uid string) *worker {
	for _, p := range k.workers {
		if p.uid == uid {
			return p
		}
	}
	return nil
}

// mayStart is allowStaticPodStart.
func (k *kubelet) mayStart(q *worker) bool {
	if !q.pod.Static {
		return true
	}
	if uid, ok := k.begun[q.name]; ok {
		return uid == q.uid
	}
	line := k.waiting[q.name]
	for len(line) > 0 {
		next := k.worker(line[0])
		if next == nil || next.phase != syncing {
			line = line[1:]
			continue
		}
		if next != q {
			k.waiting[q.name] = line
			return false
		}
		line = line[1:]
		break
	}
	k.waiting[q.name] = line
	k.begun[q.name] = q.uid
	return true
}

// wrote notes that the kubelet has written a line.
func (k *kubelet) wrote() {
	k.told.last = k.w.sim.now
	k.told.version++
}
