//go:build world

package world

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// startOne starts one container, and remembers why it could not.
func (q *worker) startOne(t *task, sb *sandbox, spec *Container) error {
	err := q.startContainer(t, sb, spec)
	if err == nil {
		delete(q.reasons, spec.Name)
		return nil
	}
	err.container = spec.Name
	q.reasons[spec.Name] = reason{err.word, err.message}
	return err
}

// startContainer waits for the back-off, pulls, creates, starts, and runs the
// postStart hook (kuberuntime_container.go startContainer).
func (q *worker) startContainer(t *task, sb *sandbox, spec *Container) *syncError {
	w := q.k.w
	records := w.crio.records(q.uid)
	if err := q.k.doBackOff(q, spec, records); err != nil {
		return err
	}
	if err := q.k.pull(t, q, spec); err != nil {
		return err
	}
	attempt := uint32(0)
	if r := newest(records, spec.Name); r != nil {
		attempt = r.attempt + 1
	}
	var made *container
	err := w.crio.ask(t, callLimit, func(o *task) (err error) {
		made, err = w.crio.create(o, sb, spec, attempt, q.rand)
		return err
	})
	if err != nil {
		return &syncError{word: "CreateContainerError", message: err.Error()}
	}
	if err := w.crio.ask(t, callLimit, func(o *task) error { return w.crio.start(o, made, q.rand) }); err != nil {
		return &syncError{word: "RunContainerError", message: err.Error()}
	}
	q.hash[made.id] = q.pod.Revision
	if spec.PostStart == 0 {
		return nil
	}
	takes := spec.PostStart
	if hangs := w.hookHangs[q.name.String()+"/"+spec.Name]; hangs > 0 {
		// The hook has no time-out of its own (lifecycle/handlers.go).
		delete(w.hookHangs, q.name.String()+"/"+spec.Name)
		takes = hangs
	}
	// A hook ends with the container that it is about; one that asks somebody else
	// does not.
	for until := t.sim.now + takes; t.sim.now < until; {
		t.sleep(min(time.Second, until-t.sim.now))
		if takes < forEver && made.state != node.ContainerRunning {
			return &syncError{word: "PostStartHookError", message: "rpc error: container is not running"}
		}
	}
	return nil
}

// backOff is one entry of client-go's flowcontrol.Backoff.
type backOff struct {
	wait   time.Duration
	marked time.Time
	// at is when it was marked, on the monotonic clock: housekeeping drops what
	// was not used for long.
	at time.Duration
}

const (
	firstBackOff = 10 * time.Second
	longBackOff  = 300 * time.Second
	// backOffReset is when a series of crashes is forgotten.
	backOffReset = 600 * time.Second
)

// doBackOff counts from the end of the newest exited record, on the wall clock.
func (k *kubelet) doBackOff(q *worker, spec *Container, records []*container) *syncError {
	var last *container
	for _, r := range records {
		if r.spec.Name == spec.Name && r.state == node.ContainerExited {
			last = r
			break
		}
	}
	if last == nil {
		return nil
	}
	first, longest := firstBackOff, longBackOff
	if m := k.w.MaxBackOff; m > 0 && k.since(135) {
		first, longest = min(first, m), m
	}
	key := fmt.Sprint(q.uid, "/", spec.Name, "/", q.pod.Revision)
	b := k.backOff[key]
	if b != nil && k.ready && k.w.sim.now-b.at > backOffReset {
		delete(k.backOff, key)
		b = nil
	}
	ended, now := last.finished, k.w.wall()
	if b != nil && ended.Sub(b.marked) <= backOffReset && now.Sub(ended) < b.wait {
		return &syncError{word: "CrashLoopBackOff", until: k.w.sim.now + ended.Add(b.wait).Sub(now),
			message: fmt.Sprintf("back-off %s restarting failed container=%s pod=%s_%s(%s)", b.wait, spec.Name, q.name.Name, q.name.Namespace, q.uid)}
	}
	switch {
	case b == nil || ended.Sub(b.marked) > backOffReset:
		b = &backOff{wait: first}
		k.backOff[key] = b
	default:
		b.wait = min(2*b.wait, longest)
	}
	b.marked, b.at = now, k.w.sim.now
	return nil
}

// pullBackOff is that of failed pulls: 10 s to 300 s.
type pullBackOff struct {
	wait  time.Duration
	until time.Duration
}

// pull makes sure that the image is there (images/image_manager.go).
func (k *kubelet) pull(t *task, q *worker, spec *Container) *syncError {
	w := k.w
	present := w.images[spec.Image]
	if spec.Pull != corev1.PullAlways && present {
		return nil
	}
	if spec.Pull == corev1.PullNever {
		return &syncError{word: "ErrImageNeverPull", message: "Container image \"" + spec.Image + "\" is not present with pull policy of Never"}
	}
	key := q.uid + "/" + spec.Image
	b := k.pulling[key]
	if b != nil && t.sim.now < b.until {
		return &syncError{word: "ImagePullBackOff", message: "Back-off pulling image \"" + spec.Image + "\""}
	}
	takes := w.pulls[spec.Image]
	if takes == 0 {
		takes = q.rand.takes(time.Second, 20*time.Second)
	}
	if present && w.registry {
		takes = min(takes, q.rand.takes(300*time.Millisecond, 5*time.Second))
		if long := w.manifestSlow; long > 0 {
			takes = long
		}
	}
	if !w.registry {
		takes = q.rand.takes(time.Second, 40*time.Second)
	}
	t.sleep(takes)
	if !w.registry || !w.crio.answers() {
		if b == nil {
			b = &pullBackOff{wait: 5 * time.Second}
			k.pulling[key] = b
		}
		b.wait = min(2*b.wait, 300*time.Second)
		b.until = t.sim.now + b.wait
		return &syncError{word: oneOf(q.rand, "ErrImagePull", "ErrImagePull", "SignatureValidationFailed", "RegistryUnavailable"), message: "dial tcp: lookup registry: no such host"}
	}
	w.store(spec.Image, true)
	delete(k.pulling, key)
	return nil
}
