//go:build world

package world

import (
	"errors"
	"sort"
	"syscall"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// observer is the agent's own memory of its sources, and what of a snapshot it
// can take from the one before.
type observer struct {
	w *World
	// silentFrom is when the runtime first did not answer its probe.
	silentFrom time.Duration
	// from is since when all lines of the kubelet's process are known.
	from    time.Duration
	process *process

	told     node.Told
	toldAt   int
	toldTick time.Duration
	// networkAt is when the network was last asked for and ready.
	networkAt time.Duration

	images   map[string]node.Answer
	imagesAt [3]int
}

// observe is what the agent sees now. The snapshot shares nothing with the world
// that changes later.
func (o *observer) observe() *node.Snapshot {
	w := o.w
	s := &node.Snapshot{
		Taken:    node.Instant{Wall: w.wall(), Boot: w.boot(w.sim.now)},
		Interval: w.Interval,
		Host:     node.Host{BootID: w.bootID, ShuttingDown: w.shutdown, Busy: w.busy, Paused: w.paused},
	}
	if w.systemdSilent || w.hostUnknown {
		s.Host.Err = errDeadline
		s.Host.ShuttingDown = false
	}
	o.settings(&s.Settings)
	if w.disk.unreadable {
		s.Intent = node.Intent{Dir: manifests, NodeName: s.Settings.NodeName, Err: syscall.EIO}
	} else {
		s.Intent = w.disk.intent(w.NodeName)
	}
	o.runtime(&s.Runtime)
	o.kubelet(&s.Kubelet)
	o.second(s)
	return s
}

// second asks what is only asked while something is wrong: the journal, and the
// images of containers that should run and do not.
func (o *observer) second(s *node.Snapshot) {
	missing := o.missing()
	if s.Intent.Err != nil {
		missing = nil
	}
	k := &s.Kubelet
	if len(missing) > 0 || len(s.Intent.Problems) > 0 || s.Runtime.Err != nil || !(k.Healthy || k.View.Answered) {
		o.journal(&k.Told)
	}
	if len(missing) > 0 && s.Runtime.Err == nil {
		s.Runtime.Images = missing
	}
}

func (o *observer) settings(s *node.Settings) {
	w := o.w
	s.NodeName, s.NodeNameFrom, s.Version = w.NodeName, "client certificate", w.Version
	if w.Override {
		s.NodeNameFrom = "--hostname-override"
	}
	s.StaticPodPath, s.RootDir, s.MaxPods, s.CgroupDriver = manifests, "/var/lib/kubelet", w.MaxPods, "systemd"
	s.HealthzURL = "http://127.0.0.1:10248/healthz"
	if w.NoHealthz {
		s.HealthzURL = ""
	}
	if w.kubelet.since(135) {
		s.MaxContainerRestartPeriod = w.MaxBackOff
	}
}

var errTooLarge = errors.New("rpc error: code = ResourceExhausted desc = grpc: received message larger than max")

func (o *observer) runtime(r *node.Runtime) {
	w := o.w
	c := w.crio
	r.Unit, r.Name, r.Version = c.unit.snapshot(), "cri-o", "1.34.0"
	if r.MonitorsInUnit = w.Monitors; w.unitless {
		r.Unit = node.Unit{Name: r.Unit.Name, LoadState: "not-found", ActiveState: "inactive", SubState: "dead"}
	}
	for _, k := range c.calls {
		r.Calls = append(r.Calls, node.RuntimeCall{PID: k.pid, Verb: k.verb, ContainerID: k.id, Age: w.sim.now - k.since})
	}
	switch {
	case !c.answers():
		if o.silentFrom == 0 {
			o.silentFrom = w.sim.now
		}
		r.Silent = w.sim.now - o.silentFrom
		r.Err = errDeadline
		if c.down {
			r.Err = errRefused
		}
		return
	case w.denied:
		r.Err = syscall.EACCES
	case w.tooLarge:
		r.Err = errTooLarge
	case c.slow > observeTimeout:
		r.Err = errDeadline
	}
	o.silentFrom = 0
	if r.Err != nil {
		return
	}
	r.Network, r.NetworkDetail = o.network()
	r.Sandboxes = c.list()
}

// network is asked every 10 s while it is ready, and each time while it is not.
func (o *observer) network() (node.Answer, string) {
	now := o.w.sim.now
	if o.networkAt > 0 && now-o.networkAt < 10*time.Second {
		return node.Yes, ""
	}
	o.networkAt = 0
	if !o.w.crio.network {
		return node.No, "NetworkPluginNotReady: no CNI configuration file"
	}
	o.networkAt = now
	return node.Yes, ""
}

// missing are the images of containers that do not run and may have to.
func (o *observer) missing() map[string]node.Answer {
	w := o.w
	at := [3]int{w.crio.version, w.disk.version, w.stored}
	if o.images != nil && o.imagesAt == at {
		return o.images
	}
	images := map[string]node.Answer{}
	for _, f := range w.disk.files {
		for _, spec := range f.pod.all() {
			plain := f.pod.init(spec.Name) && !spec.Sidecar
			if !plain && !w.done(f.pod, spec.Name) || plain && !w.initialised(f.pod) {
				images[spec.Image] = node.AnswerOf(w.images[spec.Image])
			}
		}
	}
	if len(images) > 0 {
		for _, sb := range w.crio.sandboxes {
			for _, k := range sb.containers {
				if k.state != node.ContainerRunning {
					images[k.spec.Image] = node.AnswerOf(w.images[k.spec.Image])
				}
			}
		}
	}
	o.images, o.imagesAt = images, at
	return images
}

// observeTimeout is what the agent allows one look.
const observeTimeout = 10 * time.Second

// lateness is how long a look waits for CRI.
func (c *crio) lateness() time.Duration {
	if !c.down && c.process.stopped {
		return observeTimeout
	}
	return min(c.slow, observeTimeout)
}

// list is what CRI tells of all sandboxes.
func (c *crio) list() []node.Sandbox {
	if c.cached != nil && c.at == c.version {
		return c.cached
	}
	out := make([]node.Sandbox, 0, len(c.sandboxes))
	for _, sb := range c.sandboxes {
		out = append(out, sb.snapshot())
	}
	sort.SliceStable(out, func(i, j int) bool {
		a, b := &out[i], &out[j]
		if a.Pod != b.Pod {
			return a.Pod.String() < b.Pod.String()
		}
		if a.UID != b.UID {
			return a.UID < b.UID
		}
		return a.Attempt > b.Attempt
	})
	c.cached, c.at = out, c.version
	return out
}

func (sb *sandbox) snapshot() node.Sandbox {
	s := node.Sandbox{ID: sb.id, Pod: sb.name, UID: sb.uid, Attempt: sb.attempt, Ready: sb.ready, CreatedAt: sb.created}
	if sb.pod != nil {
		s.Source = "api"
		if sb.pod.Static {
			s.Source = "file"
		}
		s.Labels = map[string]string{"io.kubernetes.pod.name": sb.name.Name, "io.kubernetes.pod.uid": sb.uid}
		for key, value := range sb.pod.labels() {
			s.Labels[key] = value
		}
		s.Annotations = sb.pod.annotations()
	}
	if sb.infra != node.ProcessUnknown {
		s.Process = node.Process{PID: 900, State: sb.infra, CgroupEmpty: sb.infra == node.ProcessGone}
	}
	s.Containers = make([]node.Container, 0, len(sb.containers))
	for _, k := range sb.containers {
		r := node.Container{
			ID: k.id, SandboxID: sb.id, Name: k.spec.Name, Attempt: k.attempt, State: k.state,
			CreatedAt: k.created, StartedAt: k.started, FinishedAt: k.finished, ExitCode: k.code, Reason: k.reason,
			Image: k.spec.Image, Grace: -1, StatusUnknown: k.statusLost && k.state == node.ContainerExited,
		}
		if sb.pod != nil {
			r.Grace = sb.pod.annotated()
		}
		if k.state == node.ContainerRunning {
			r.Process = node.Process{PID: k.pid, State: k.process, CgroupEmpty: k.process == node.ProcessGone, Frozen: k.frozen}
		}
		s.Containers = append(s.Containers, r)
	}
	sort.SliceStable(s.Containers, func(i, j int) bool {
		a, b := &s.Containers[i], &s.Containers[j]
		return a.Name < b.Name || a.Name == b.Name && a.Attempt > b.Attempt
	})
	return s
}

var errUnauthorized = errors.New("401 Unauthorized")

func (o *observer) kubelet(s *node.Kubelet) {
	w := o.w
	k := w.kubelet
	s.Unit = k.unit.snapshot()
	s.View.Source = node.ViewNone
	if k.unit.pid == 0 && w.elsewhere {
		// The configured unit was never there, and nothing leads to the other.
		s.Unit = node.Unit{Name: k.unit.name, LoadState: "not-found", ActiveState: "inactive", SubState: "dead"}
	}
	if k.unit.pid == 0 {
		s.Process.Err = errors.New("no kubelet runs")
		s.HealthErr, s.View.Err = errRefused, errRefused
		return
	}
	s.Elsewhere = w.elsewhere
	s.Process = node.KubeletProcess{PID: k.unit.pid, Started: w.boot(k.unit.started), State: k.unit.state(), Program: "/usr/bin/kubelet", Unit: "kubelet.service"}
	if s.Process.State != "S" {
		s.HealthErr, s.View.Err = errDeadline, errDeadline
		return
	}
	if k.unit.broken {
		s.HealthErr, s.View.Err = errRefused, errRefused
		return
	}
	s.Healthy = !w.NoHealthz // with healthzPort: 0 nobody is asked
	s.View.Answered = true
	podsAPI := k.since(137)
	s.View.SourcesNotReady = podsAPI && !(k.ready && k.entered)
	switch {
	case podsAPI && !s.View.SourcesNotReady:
		s.View.Source, s.View.Pods = node.ViewPodsAPI, k.view()
	case w.View:
		s.View.Source, s.View.Pods = node.ViewPods, k.view()
	default:
		s.View.Err = errUnauthorized
	}
}

// journalReach is how far back the first question to the journal goes.
const journalReach = 30 * time.Minute

// journal is what the kubelet has written since from.
func (o *observer) journal(s *node.Told) {
	k := o.w.kubelet
	switch {
	case !o.w.Journal:
		s.Err = errors.New("journal: permission denied")
		return
	case k.unit.pid == 0:
		s.Err = errors.New("no kubelet runs whose journal could be read")
		return
	case o.process != k.process:
		o.process = k.process
		o.from = max(k.unit.started, o.w.sim.now-journalReach, o.w.booted+1)
	}
	if o.from = max(o.from, k.told.synced); !k.process.stopped && (!k.entered || !o.w.crio.answers()) {
		// "Skipping pod synchronization", every few seconds.
		o.from = o.w.sim.now
		k.wrote()
	}
	tick := o.w.sim.now / (20 * time.Second)
	if k.entered && !o.w.Standalone && !o.w.api && !k.process.stopped {
		k.wrote() // a node status that cannot be sent is an error every few seconds
	}
	if o.told.From == o.w.boot(o.from) && o.toldAt == k.told.version && (o.toldTick == tick || len(k.told.refused) == 0) {
		*s = o.told
		return
	}
	t := node.Told{From: o.w.boot(o.from), Last: k.told.last, Pods: map[node.PodName]node.Said{}, Manifests: map[string]node.Said{},
		Containers: map[string]node.Said{}, NotDeleted: map[node.PodName]time.Duration{}}
	for name, said := range k.told.pods {
		if said.At >= o.from {
			said.At = o.w.boot(said.At)
			t.Pods[name] = said
		}
	}
	for id, said := range k.told.containers {
		if said.At >= o.from {
			said.At = o.w.boot(said.At)
			t.Containers[id] = said
		}
	}
	// A bad manifest is refused anew with each list, every 20 s.
	last := o.w.sim.now
	if k.process.stopped {
		last = k.process.since
	}
	for path, r := range k.told.refused {
		at := r.since + (last-r.since)/(20*time.Second)*(20*time.Second)
		if at >= o.from {
			t.Manifests[path] = node.Said{At: o.w.boot(at), Message: r.message}
			t.Last = max(t.Last, at)
		}
	}
	if o.w.Verbose {
		for name, at := range k.told.notDeleted {
			if at >= o.from {
				t.NotDeleted[name] = o.w.boot(at)
			}
		}
	}
	if t.Last < o.from {
		t.Last = 0
	}
	t.Last = o.w.boot(t.Last)
	o.told, o.toldAt, o.toldTick = t, k.told.version, tick
	*s = t
}
