//go:build world

package world

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// fileSource reads the manifests at once, when they change, and every 20 s
// (config/file.go run).
func (k *kubelet) fileSource(t *task) {
	for {
		for !k.w.crio.answers() || k.loopDead {
			t.sleep(time.Second) // syncLoop skips while the runtime has errors
		}
		if !k.deaf {
			k.read()
		}
		version := k.w.disk.version
		next := t.sim.now + 20*time.Second
		for k.w.disk.version == version {
			if k.w.Watch {
				t.await(&k.w.disk.changed)
			} else if !t.awaitUntil(&k.w.disk.changed, next) {
				next += 20 * time.Second
			}
		}
		if k.w.Watch {
			t.sleep(k.rand.takes(50*time.Millisecond, 1200*time.Millisecond))
		} else {
			t.sleep(max(0, next-t.sim.now))
		}
	}
}

// read compares the manifests with the static pods: removals come first, then
// additions (config/config.go, kubelet.go syncLoopIteration).
func (k *kubelet) read() {
	wanted := map[node.PodName]*file{}
	var order []node.PodName
	refused := map[string]refusal{}
	for _, f := range k.w.disk.sorted() {
		if why := f.broken + f.pod.Refused; why != "" {
			r, ok := k.told.refused[f.path]
			if !ok || r.message != why {
				r = refusal{k.w.sim.now, why}
			}
			refused[f.path] = r
			continue
		}
		name := f.pod.fullName(k.nodeName)
		if wanted[name] == nil {
			order = append(order, name)
		}
		wanted[name] = f
	}
	k.told.refused = refused
	k.told.version++
	for _, p := range append([]*known(nil), k.pods...) {
		if f := wanted[p.name]; p.pod.Static && (f == nil || f.uid(k.nodeName) != p.uid) {
			k.removed(p)
		}
	}
	for _, name := range order {
		f := wanted[name]
		uid := f.uid(k.nodeName)
		switch p := k.pod(uid); {
		case p == nil:
			k.added(&known{pod: f.pod, name: name, uid: uid, path: f.path})
		case p.pod != f.pod && p.pod.Revision != f.pod.Revision:
			// One UID, other content: an update in place.
			p.pod = f.pod
			k.dispatch(p)
		default:
			p.pod, p.path = f.pod, f.path
		}
	}
}

// added is HandlePodAdditions: admission decides once and for all.
func (k *kubelet) added(p *known) {
	p.seen = k.w.sim.now
	p.status = node.PodView{Name: p.name, UID: p.uid, Static: p.pod.Static, Phase: corev1.PodPending}
	reason := ""
	if q := k.worker(p.uid); q == nil || q.phase == syncing {
		reason = k.admit(p)
	}
	k.pods = append(k.pods, p)
	k.version++
	if reason != "" {
		p.reason = reason
		p.status.Phase, p.status.Reason = corev1.PodFailed, reason
		p.status.Message = "Pod was rejected"
		k.untidy = true
		k.tidy.broadcast(&k.w.sim)
		k.w.note("kubelet: rejected %s: %s", p.name, reason)
		if reason == "UnexpectedAdmissionError" || k.since(131) || k.w.Verbose {
			k.told.pods[p.name] = node.Said{At: k.w.sim.now, Reason: reason, Message: "Pod admission denied"}
			k.wrote()
		}
		return
	}
	k.dispatch(p)
}

// removed is HandlePodRemoves. While not all sources are ready the worker is
// never told (kubelet.go deletePod): it goes on by itself and nobody wakes it.
func (k *kubelet) removed(p *known) {
	for i, other := range k.pods {
		if other == p {
			k.pods = append(k.pods[:i:i], k.pods[i+1:]...)
			break
		}
	}
	k.version++
	q := k.worker(p.uid)
	if q != nil {
		q.again = false
	}
	if !k.ready {
		if p.pod.Static {
			k.told.notDeleted[p.name] = k.w.sim.now
			k.wrote()
		}
		return
	}
	if q != nil {
		q.terminate()
	}
	k.untidy = true
	k.tidy.broadcast(&k.w.sim)
}

// admit tells the reason of a rejection, or nothing.
func (k *kubelet) admit(p *known) string {
	active, limit := 0, k.w.MaxPods
	for _, other := range k.pods {
		if other.reason != "" || other.status.Phase == corev1.PodFailed || other.status.Phase == corev1.PodSucceeded {
			continue
		}
		active++
		if p.pod.HostPort > 0 && other.pod.HostPort == p.pod.HostPort {
			return "NodePorts"
		}
	}
	switch {
	case k.w.shutdown && k.w.graceful:
		return "NodeShutdown"
	case p.pod.Selector && !(k.ready && k.w.labels && !k.w.Standalone) && !(k.w.api && k.w.labels && !k.w.Standalone):
		return "NodeAffinity"
	case limit > 0 && active >= limit:
		// Static pods are critical: the kubelet tries to evict others first.
		return "UnexpectedAdmissionError"
	}
	return ""
}

func (k *kubelet) dispatch(p *known) {
	q := k.worker(p.uid)
	if q == nil {
		q = newWorker(k, p)
	}
	if q.phase != syncing {
		q.again = true // wanted anew while it ends (pod_workers.go restartRequested)
		return
	}
	q.pod, q.known = p.pod, p
	q.poke()
}

// apiSource waits for the API server and then brings its pods. The reflector
// backs off up to 30 s (measured: 19 s).
func (k *kubelet) apiSource(t *task) {
	if k.w.Standalone {
		k.allReady()
		return
	}
	first := k.w.api
	for !k.w.api {
		t.await(&k.w.apiUp)
	}
	if first {
		t.sleep(k.rand.takes(500*time.Millisecond, 5*time.Second))
	} else {
		t.sleep(k.rand.takes(2*time.Second, 31*time.Second))
	}
	k.allReady()
	for {
		if k.w.api {
			k.list()
		}
		t.await(&k.w.apiUp)
		t.sleep(k.rand.takes(50*time.Millisecond, time.Second))
	}
}

// list takes up the pods that the API server wants here.
func (k *kubelet) list() {
	wanted := map[string]bool{}
	for _, p := range k.w.others {
		wanted[p.UID] = true
	}
	for _, p := range append([]*known(nil), k.pods...) {
		if !p.pod.Static && !wanted[p.uid] {
			k.removed(p)
		}
	}
	for _, p := range k.w.others {
		if k.pod(p.UID) == nil {
			k.added(&known{pod: p, name: p.fullName(k.nodeName), uid: p.UID})
		}
	}
}

func (k *kubelet) allReady() {
	k.ready = true
	k.version++
	k.untidy = true
	k.tidy.broadcast(&k.w.sim)
}
