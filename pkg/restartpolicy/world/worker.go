//go:build world

package world

import (
	"errors"
	"reflect"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// phase is what a pod's worker does next.
type phase int

const (
	syncing phase = iota
	terminating
	terminated
	finished
)

// worker is the one thread that does everything for one pod UID, one thing
// after the other (pod_workers.go podWorkerLoop).
type worker struct {
	k     *kubelet
	uid   string
	name  node.PodName
	pod   *Pod
	known *known
	rand  *stream
	task  *task
	phase phase
	// begun is set once it was its turn among the revisions of a static pod.
	begun bool
	// again is set when the same UID is wanted anew while this one ends.
	again   bool
	pending bool
	wake    cond
	timer   int
	synced  time.Duration
	// reasons is why each container could not be started last time.
	reasons map[string]reason
	// mounted is set once its volumes have been there.
	mounted bool
	// stuck keeps it from its next sync; for tests of a worker that is blocked.
	stuck bool
	// born is when the worker began, for activeDeadlineSeconds.
	born time.Duration
	// ended is why the kubelet itself has ended the pod; empty if it has not.
	ended string
	// hash is the revision that each running container was made of.
	hash map[string]int
}

type reason struct{ word, message string }

// syncError is the error of a sync.
type syncError struct {
	container string
	word      string
	message   string
	network   bool
	// until is the end of a back-off, on the boot clock; 0 for none.
	until time.Duration
}

func (e *syncError) Error() string { return e.word + ": " + e.message }

func newWorker(k *kubelet, p *known) *worker {
	q := &worker{k: k, uid: p.uid, name: p.name, pod: p.pod, known: p, reasons: map[string]reason{}, hash: map[string]int{},
		rand: k.w.stream("worker/" + p.pod.Namespace + "/" + p.pod.Name + "/" + time.Duration(p.pod.Revision).String()), born: k.w.sim.now}
	k.workers = append(k.workers, q)
	if p.pod.Static {
		k.waiting[p.name] = append(k.waiting[p.name], p.uid)
	}
	q.task = k.process.start(q.loop)
	return q
}

func (q *worker) poke() {
	q.pending = true
	q.wake.broadcast(&q.k.w.sim)
}

// enqueue pokes it after a while, if the sources still want it.
func (q *worker) enqueue(d time.Duration) {
	q.timer++
	timer, process := q.timer, q.k.process
	q.k.w.sim.after(d, func() {
		if q.timer == timer && !process.dead && q.k.pod(q.uid) != nil {
			q.poke()
		}
	})
}

func (q *worker) terminate() {
	if q.phase != syncing {
		return
	}
	q.phase = terminating
	q.poke()
}

// evict ends the pod for good: the kubelet does not come back to it.
func (q *worker) evict(reason string) {
	q.ended = reason
	q.terminate()
}

func (q *worker) quit() { q.task.end() }

func (q *worker) loop(t *task) {
	for {
		for !q.pending {
			t.await(&q.wake)
		}
		q.pending = false
		if !q.begun {
			if q.phase != syncing {
				q.phase = finished
				q.k.untidy = true
				q.k.tidy.broadcast(t.sim)
				return
			}
			if !q.k.mayStart(q) {
				q.enqueue(q.rand.between(10*time.Second, 15*time.Second))
				continue
			}
			q.begun = true
		}
		q.fresh(t)
		switch q.phase {
		case syncing:
			q.sync(t)
		case terminating:
			if err := q.kill(t); err != nil {
				q.k.failed(q.name, err)
				q.synced = t.sim.now
				q.enqueue(q.rand.between(10*time.Second, 15*time.Second))
				continue
			}
			q.synced = t.sim.now
			q.phase = terminated
			q.pending = true
		case terminated:
			t.sleep(q.rand.takes(100*time.Millisecond, 2*time.Second)) // volumes, cgroup
			for q.k.w.volumeBusy(q) {
				t.sleep(2 * time.Second)
			}
			q.phase = finished
			q.k.untidy = true
			q.k.tidy.broadcast(t.sim)
			return
		}
	}
}

// fresh is GetNewerThan: it waits, without a bound, for a look of the lister
// that is younger than the last sync.
func (q *worker) fresh(t *task) {
	for q.stuck || !q.k.w.crio.answers() {
		t.sleep(time.Second)
	}
	if gap := q.synced + time.Second - t.sim.now; q.synced > 0 && gap > 0 {
		t.sleep(gap)
	}
	for _, r := range q.k.w.crio.records(q.uid) {
		if r.slowStatus {
			t.sleep(3800 * time.Millisecond)
		}
	}
}

// sync is one sync and what comes after it (completeWork).
func (q *worker) sync(t *task) {
	terminal, err := q.syncPod(t)
	q.synced = t.sim.now
	var e *syncError
	switch {
	case q.phase != syncing:
		q.pending = true
	case terminal:
		q.phase = terminating
		q.pending = true
	case err == nil:
		q.enqueue(q.rand.between(60*time.Second, 90*time.Second))
	case errors.As(err, &e) && e.network:
		q.enqueue(q.rand.between(time.Second, 1500*time.Millisecond))
	case e != nil && e.until > 0 && q.k.since(135):
		left := min(max(0, e.until-t.sim.now), 60*time.Second)
		q.enqueue(left + q.rand.between(0, left/2))
	default:
		q.enqueue(q.rand.between(10*time.Second, 15*time.Second))
	}
	if err != nil && q.phase == syncing {
		q.k.failed(q.name, err)
	}
}

// since tells kubelets of a minor version and later: 137 is 1.37.
func (k *kubelet) since(minor int) bool {
	return 100+int(k.w.Version[2]-'0')*10+int(k.w.Version[3]-'0') >= minor
}

// failed is the line of a failed sync, with its reason. It is always written.
func (k *kubelet) failed(name node.PodName, err error) {
	var e *syncError
	said := node.Said{At: k.w.sim.now, Message: err.Error()}
	if errors.As(err, &e) {
		said.Container, said.Reason, said.Message = e.container, e.word, e.message
	}
	if old := k.told.pods[name]; old.Reason != said.Reason || old.Message != said.Message {
		k.w.note("kubelet: %s: %s %s: %s", name, said.Container, said.Reason, firstLine(said.Message))
	}
	k.told.pods[name] = said
	k.wrote()
}

// kill is SyncTerminatingPod: all containers with their grace, then the
// sandboxes.
func (q *worker) kill(t *task) error {
	q.show(q.podStatus(), "")
	if err := q.killPod(t); err != nil {
		return err
	}
	q.show(q.podStatus(), "")
	return nil
}

// killPod ends the running containers side by side, and then the sandboxes.
func (q *worker) killPod(t *task) error {
	var failed error
	left := 0
	var done cond
	for _, r := range q.k.w.crio.records(q.uid) {
		if r.state != node.ContainerRunning {
			continue
		}
		left++
		q.task.owner.start(func(t *task) {
			if err := q.killContainer(t, r); err != nil {
				failed = err
			}
			left--
			done.broadcast(t.sim)
		})
	}
	for left > 0 {
		t.await(&done)
	}
	if failed != nil {
		return failed
	}
	for _, sb := range q.k.w.crio.of(q.uid) {
		if !sb.ready {
			continue
		}
		if err := q.k.w.crio.ask(t, callLimit, func(o *task) error { return q.k.w.crio.stopPodSandbox(o, sb, callLimit) }); err != nil {
			return &syncError{word: "KillPodSandboxError", message: err.Error()}
		}
	}
	return nil
}

// killContainer runs the preStop hook within the grace, and leaves at least 2 s
// to the stop (kuberuntime_container.go killContainer).
func (q *worker) killContainer(t *task, r *container) error {
	grace := q.pod.grace()
	hook := min(r.spec.PreStop, grace)
	if hook > 0 {
		t.sleep(hook)
	}
	grace = max(grace-hook, 2*time.Second)
	if err := q.k.w.crio.ask(t, grace+callLimit, func(o *task) error { return q.k.w.crio.halt(o, r, grace) }); err != nil {
		return &syncError{container: r.spec.Name, word: "KillContainerError", message: err.Error()}
	}
	return nil
}

// show lays a status down for the view.
func (q *worker) show(s node.PodView, phase corev1.PodPhase) {
	if q.known == nil {
		return
	}
	if phase != "" {
		s.Phase = phase
	}
	if !reflect.DeepEqual(q.known.status, s) {
		q.known.status = s
		q.k.version++
	}
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}
