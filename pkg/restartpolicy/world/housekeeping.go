//go:build world

package world

import (
	"sort"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// lister is the PLEG: it asks CRI every second, and wakes the workers of pods
// that changed and that the sources still want.
func (k *kubelet) lister(t *task) {
	c := k.w.crio
	for {
		for len(c.dirty) == 0 || k.loopDead {
			t.await(&c.changed)
		}
		t.sleep(k.tick(time.Second))
		for !c.answers() {
			t.sleep(500 * time.Millisecond)
		}
		uids := make([]string, 0, len(c.dirty))
		for uid := range c.dirty {
			uids = append(uids, uid)
		}
		clear(c.dirty)
		if k.w.Verbose {
			k.wrote() // SyncLoop (PLEG): event for pod
		}
		sort.Strings(uids)
		for _, uid := range uids {
			q := k.worker(uid)
			if q != nil && k.pod(uid) != nil && q.phase == syncing {
				q.poke()
			}
			k.prune(uid)
		}
		if k.ready {
			k.untidy = true
			k.tidy.broadcast(t.sim)
		}
	}
}

// tick is the time until a loop of the kubelet comes round.
func (k *kubelet) tick(period time.Duration) time.Duration {
	return period - (k.w.sim.now-k.unit.started)%period + 100*time.Millisecond
}

// prune keeps one dead record of each container (kubelet.go
// cleanUpContainersInPod, pod_container_deletor.go: exited ones only).
func (k *kubelet) prune(uid string) {
	if k.pod(uid) == nil {
		return
	}
	k.collect(uid, func(r *container) bool { return r.state == node.ContainerExited })
}

// collect removes all dead records but the newest of each container.
func (k *kubelet) collect(uid string, dead func(*container) bool) {
	kept := map[string]bool{}
	for _, r := range k.w.crio.records(uid) {
		if !dead(r) {
			continue
		}
		if kept[r.spec.Name] && !r.busy {
			k.process.start(func(t *task) {
				_ = k.w.crio.ask(t, callLimit, func(o *task) error { return k.w.crio.remove(o, r) })
			})
		}
		kept[r.spec.Name] = true
	}
}

// collector is the garbage collection of each minute. It counts a created
// record among the dead (kuberuntime_gc.go evictableContainers).
func (k *kubelet) collector(t *task) {
	for {
		t.sleep(time.Minute)
		if !k.w.crio.answers() {
			continue
		}
		seen := map[string]bool{}
		for _, sb := range append([]*sandbox(nil), k.w.crio.sandboxes...) {
			if !seen[sb.uid] && sb.pod != nil {
				seen[sb.uid] = true
				k.collect(sb.uid, func(r *container) bool { return r.state != node.ContainerRunning })
				k.collectSandboxes(sb.uid)
			}
		}
	}
}

// collectSandboxes removes dead sandboxes without records, but the newest of a
// pod that is still wanted (kuberuntime_gc.go evictSandboxes).
func (k *kubelet) collectSandboxes(uid string) {
	for i, sb := range k.w.crio.of(uid) {
		if sb.ready || len(sb.containers) > 0 || i == 0 && k.pod(uid) != nil || k.pod(uid) == nil && !k.ready {
			continue
		}
		k.process.start(func(t *task) {
			_ = k.w.crio.ask(t, callLimit, func(o *task) error { return k.w.crio.removePodSandbox(o, sb) })
		})
	}
}

// housekeeping is HandlePodCleanups, every 2 s, never before all sources are
// ready (kubelet.go syncLoopIteration).
func (k *kubelet) housekeeping(t *task) {
	for {
		for !k.untidy || !k.ready {
			t.await(&k.tidy)
		}
		t.sleep(k.tick(2 * time.Second))
		k.untidy = false
		if k.w.crio.answers() && !k.loopDead {
			k.cleanUp()
		}
	}
}

func (k *kubelet) cleanUp() {
	for _, q := range append([]*worker(nil), k.workers...) {
		orphan := k.pod(q.uid) == nil
		switch {
		case !orphan && !(q.again && q.phase == finished):
		case q.phase == finished:
			k.forget(q)
		case !q.begun:
			k.forget(q)
		case q.phase == syncing:
			q.terminate()
		default:
			q.poke() // nobody else retries what has left the sources
		}
	}
	for _, p := range k.pods {
		if p.reason == "" && k.worker(p.uid) == nil {
			k.dispatch(p)
		}
	}
	for _, sb := range append([]*sandbox(nil), k.w.crio.sandboxes...) {
		if sb.pod == nil || k.worker(sb.uid) != nil {
			continue
		}
		k.orphan(sb)
	}
}

// orphan ends what runs of a pod that no worker knows, with a grace of 1 s, and
// takes its records away once nothing of it runs.
func (k *kubelet) orphan(sb *sandbox) {
	if sb.ending {
		return
	}
	runs := sb.ready
	for _, r := range sb.containers {
		runs = runs || r.state == node.ContainerRunning
	}
	if !runs && k.pod(sb.uid) != nil {
		return // rejected: its records stay
	}
	sb.ending = true
	k.process.start(func(t *task) {
		defer func() { sb.ending = false }()
		if runs {
			_ = k.w.crio.ask(t, callLimit, func(o *task) error { return k.w.crio.stopPodSandbox(o, sb, time.Second) })
		} else {
			_ = k.w.crio.ask(t, callLimit, func(o *task) error { return k.w.crio.removePodSandbox(o, sb) })
		}
		k.untidy = true
		k.tidy.broadcast(t.sim)
	})
}

// forget frees the pod's name for the next in line.
func (k *kubelet) forget(q *worker) {
	for i, other := range k.workers {
		if other == q {
			k.workers = append(k.workers[:i:i], k.workers[i+1:]...)
			break
		}
	}
	if k.begun[q.name] == q.uid {
		delete(k.begun, q.name)
	}
	q.quit()
}
