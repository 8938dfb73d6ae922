//go:build world

package world

import (
	"errors"
	"strconv"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// runPodSandbox makes the sandbox of a pod. Without a CNI plugin it fails for
// pods that need one.
func (c *crio) runPodSandbox(o *task, p *Pod, name node.PodName, uid string, r *stream) (*sandbox, error) {
	var attempt uint32
	for _, sb := range c.sandboxes {
		if sb.uid == uid {
			attempt = max(attempt, sb.attempt+1)
		}
	}
	sb := &sandbox{id: c.id("sandbox-"), pod: p, name: name, uid: uid, attempt: attempt, created: c.w.wall()}
	o.sleep(r.takes(200*time.Millisecond, 3*time.Second))
	if !p.HostNetwork && !c.network {
		o.sleep(r.takes(100*time.Millisecond, 2*time.Second))
		return nil, errors.New("failed to create pod network sandbox: no CNI configuration file in /etc/cni/net.d/")
	}
	sb.ready = true
	if p.Selector || !p.HostNetwork {
		sb.infra = node.ProcessAlive // with dropInfraCtr most pods have none
	}
	c.sandboxes = append(c.sandboxes, sb)
	c.touch(sb)
	return sb, nil
}

// create makes a record. A creation that outlives the kubelet's call is set
// aside, and thrown away as stale about 4 minutes after it began (CRI-O
// server/container_create.go and internal/resourcestore, measured): its name
// stays in use until then.
func (c *crio) create(o *task, sb *sandbox, spec *Container, attempt uint32, r *stream) (*container, error) {
	name := sb.uid + "/" + spec.Name + "/" + strconv.Itoa(int(attempt))
	for c.reserved[name] {
		o.sleep(10 * time.Second)
	}
	for _, old := range sb.containers {
		if old.spec.Name == spec.Name && old.attempt == attempt {
			return old, nil // since 1.30: the same name is the same container
		}
	}
	switch {
	case sb.infra == node.ProcessGone && sb.ready:
		o.sleep(50 * time.Millisecond)
		return nil, errors.New("sandbox infra container unexpectedly invalid")
	case !sb.ready:
		return nil, errors.New("sandbox " + sb.id + " is not running")
	}
	c.reserved[name] = true
	began := o.sim.now
	id := c.id(spec.Name + "-")
	c.run(o, "create", sb, id, r.takes(100*time.Millisecond, 1500*time.Millisecond))
	took := o.sim.now - began
	if took > creationLimit {
		delete(c.reserved, name)
		return nil, errDeadline
	}
	if took > callLimit {
		o.sleep(creationLimit - took)
		delete(c.reserved, name)
		return nil, errDeadline
	}
	delete(c.reserved, name)
	k := &container{id: id, sandbox: sb, spec: spec, attempt: attempt, state: node.ContainerCreated, created: c.w.wall(), pods: sb.pod}
	sb.containers = append(sb.containers, k)
	c.touch(sb)
	return k, nil
}

const (
	// creationLimit is after what CRI-O gives up a creation.
	creationLimit = 240 * time.Second
	// callLimit is the kubelet's runtimeRequestTimeout, for most calls.
	callLimit = 2 * time.Minute
)

// start runs a created container. CRI-O refuses any other.
func (c *crio) start(o *task, k *container, r *stream) error {
	c.acquire(o, k)
	defer c.release(k)
	if k.state != node.ContainerCreated {
		return errors.New("container " + k.id + " is not in created state: " + string(k.state))
	}
	if !c.run(o, "start", k.sandbox, k.id, r.takes(100*time.Millisecond, time.Second)) {
		return errors.New("runtime start failed: signal: killed")
	}
	k.state, k.started = node.ContainerRunning, c.w.wall()
	c.w.begin(k)
	c.touch(k.sandbox)
	return nil
}

// halt is StopContainer: SIGTERM, the grace, SIGKILL. The caller may go; the
// stop is carried out to its end (measured).
func (c *crio) halt(o *task, k *container, grace time.Duration) error {
	c.acquire(o, k)
	defer c.release(k)
	if k.state != node.ContainerRunning {
		if k.state == node.ContainerCreated {
			o.sleep(3800 * time.Millisecond)
			k.state, k.code, k.finished = node.ContainerExited, -1, c.w.wall()
			c.touch(k.sandbox)
		}
		return nil
	}
	if k.process != node.ProcessAlive {
		// It waits for an exit file that never comes, and then gives up.
		o.sleep(3800 * time.Millisecond)
		if k.state == node.ContainerRunning {
			k.state, k.code, k.reason, k.finished, k.slowStatus = node.ContainerExited, -1, "Error", c.w.wall(), true
			c.touch(k.sandbox)
		}
		return nil
	}
	c.run(o, "kill", k.sandbox, k.id, 100*time.Millisecond)
	if k.frozen {
		for k.frozen {
			o.sleep(10 * time.Second)
		}
	}
	ends := min(k.spec.Ends, grace)
	k.ends = o.sim.now + ends
	for until := k.ends; k.process == node.ProcessAlive && o.awaitUntil(&k.died, until); {
	}
	k.ends = 0
	code := int32(143)
	if k.spec.Ends > grace {
		code = 137
	}
	c.w.end(k, code, "Error")
	if !k.monitor {
		// It waits for an exit file that never comes, and then gives up.
		o.sleep(3800 * time.Millisecond)
		if k.state == node.ContainerRunning {
			k.state, k.code, k.reason, k.finished, k.slowStatus = node.ContainerExited, -1, "Error", c.w.wall(), true
			c.touch(k.sandbox)
		}
		return nil
	}
	for k.state == node.ContainerRunning {
		o.sleep(100 * time.Millisecond)
	}
	return nil
}

// acquire waits for the record's lock: one call at a time.
func (c *crio) acquire(o *task, k *container) {
	for k.busy {
		o.await(&k.freed)
	}
	k.busy = true
}

func (c *crio) release(k *container) {
	k.busy = false
	k.freed.broadcast(&c.w.sim)
}

// stopPodSandbox takes the deadline of the call as the containers' grace.
func (c *crio) stopPodSandbox(o *task, sb *sandbox, deadline time.Duration) error {
	left := 0
	var all cond
	for _, k := range sb.containers {
		if k.state != node.ContainerRunning {
			continue
		}
		left++
		o.owner.start(func(o *task) {
			_ = c.halt(o, k, deadline)
			left--
			all.broadcast(o.sim)
		})
	}
	for left > 0 {
		o.await(&all)
	}
	o.sleep(300 * time.Millisecond)
	sb.ready = false
	if sb.infra != node.ProcessUnknown {
		sb.infra = node.ProcessGone
	}
	c.touch(sb)
	return nil
}

// remove takes a record away; one that runs is killed first.
func (c *crio) remove(o *task, k *container) error {
	if k.state == node.ContainerRunning || k.state == node.ContainerCreated {
		if err := c.halt(o, k, 0); err != nil {
			return err
		}
	}
	c.acquire(o, k)
	defer c.release(k)
	o.sleep(200 * time.Millisecond)
	sb := k.sandbox
	for i, other := range sb.containers {
		if other == k {
			sb.containers = append(sb.containers[:i:i], sb.containers[i+1:]...)
			break
		}
	}
	c.touch(sb)
	return nil
}

func (c *crio) removePodSandbox(o *task, sb *sandbox) error {
	if err := c.stopPodSandbox(o, sb, time.Second); err != nil {
		return err
	}
	for i, other := range c.sandboxes {
		if other == sb {
			c.sandboxes = append(c.sandboxes[:i:i], c.sandboxes[i+1:]...)
			break
		}
	}
	c.touch(sb)
	return nil
}
