package restartpolicy

import (
	"cmp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// This file answers whether a pod's worker may be at work, so that a container
// that is down has its turn to come: kubelet pkg/kubelet/pod_workers.go and
// pkg/kubelet/kuberuntime SyncPod, v1.30 to v1.37.

// network tells whether the pod network is there for a pod that needs it.
func (q question) network(pod *corev1.Pod) (node.Answer, string) {
	if pod.Spec.HostNetwork {
		return node.Yes, ""
	}
	switch q.snap.Runtime.Network {
	case node.Yes:
		return node.Yes, ""
	case node.No:
		return node.No, strings.TrimSuffix("network not ready: "+firstLine(q.snap.Runtime.NetworkDetail), ": ")
	}
	return node.Unknown, "the runtime does not tell whether the network is ready"
}

// images tells whether no image can be on its way that the pod's worker waits
// for: those of volumes, and those of all containers that it may be about to
// start. It pulls one after the other (kubelet pkg/kubelet/kuberuntime SyncPod,
// v1.37).
func (q question) images() (node.Answer, string) {
	p, spec := q.f.about.pod, &q.f.about.manifest.Pod.Spec
	for i := range spec.Volumes {
		if v := spec.Volumes[i].Image; v != nil && v.PullPolicy != corev1.PullNever {
			if q.snap.Runtime.Images[v.Reference] != node.Yes {
				return node.Unknown, "whether the image of volume " + spec.Volumes[i].Name + " is there"
			}
		}
	}
	// Without a sandbox the worker may still be at what was in one that is gone.
	phase := initPhase{done: true, reached: len(spec.InitContainers)}
	if p.current != nil {
		phase = p.initPhase()
	} else {
		for _, sb := range p.sandboxes {
			if answer, why := q.oldImages(sb); answer != node.Yes {
				return answer, why
			}
		}
		if !p.seen.Ran {
			return node.Yes, "" // its sandbox comes first
		}
	}
	for i := range spec.InitContainers {
		if i > phase.reached+1 || phase.done && !sidecar(&spec.InitContainers[i]) {
			continue
		}
		if answer, why := q.imageToStart(&spec.InitContainers[i]); answer != node.Yes {
			return answer, why
		}
	}
	for i := range spec.Containers {
		if !phase.done {
			break
		}
		if answer, why := q.imageToStart(&spec.Containers[i]); answer != node.Yes {
			return answer, why
		}
	}
	return node.Yes, ""
}

// imageToStart is about a container that is down and that the worker may be
// about to start; Yes for any other.
func (q question) imageToStart(c *corev1.Container) (node.Answer, string) {
	p := q.f.about.pod
	var rec node.Container
	ok := false
	if p.current != nil {
		rec, ok = p.current.Newest(c.Name)
	}
	if ok && (rec.State == node.ContainerRunning || rec.State == node.ContainerExited && !rec.StatusUnknown && !sidecar(c) &&
		(p.plainInit(c.Name) && !initFailed(rec) || AfterExit(&p.manifest.Pod.Spec, c, rec.ExitCode, p.gates) == RestartNo)) {
		return node.Yes, ""
	}
	answer, why := q.image(c, c.Image)
	if c.Name != q.f.key.Container && answer != node.Yes {
		why += ", of " + c.Name
	}
	return answer, why
}

// oldImages is the same for an old generation: what its containers were made
// from may have been removed, and its worker pulls it before it can be ended.
func (q question) oldImages(sb *node.Sandbox) (node.Answer, string) {
	spec := &q.f.about.manifest.Pod.Spec
	for i := range len(spec.InitContainers) + len(spec.Containers) {
		var c *corev1.Container
		if i < len(spec.InitContainers) {
			c = &spec.InitContainers[i]
			if !sidecar(c) {
				continue
			}
		} else {
			c = &spec.Containers[i-len(spec.InitContainers)]
		}
		rec, ok := sb.Newest(c.Name)
		image := rec.Image
		switch {
		case rec.State == node.ContainerRunning, ok && image == "", !ok && !sb.Ready:
			continue
		case !ok:
			image = c.Image // its record was removed, or only the new one has it
		}
		if answer, why := q.image(c, image); answer != node.Yes {
			return answer, why + ", of the old " + c.Name
		}
	}
	return node.Yes, ""
}

// image tells whether no image of the container can be on its way.
func (q question) image(c *corev1.Container, name string) (node.Answer, string) {
	policy := c.ImagePullPolicy
	if policy == "" && latest(c.Image) {
		policy = corev1.PullAlways
	}
	switch {
	case policy == corev1.PullAlways:
		return node.Unknown, "pulled anew for each start (imagePullPolicy Always)"
	case policy == corev1.PullNever:
		return node.Yes, ""
	}
	switch answer := q.snap.Runtime.Images[name]; answer {
	case node.Yes:
		return answer, ""
	case node.No:
		return answer, "it is being pulled, or cannot be: " + name
	}
	return node.Unknown, "the runtime has not told whether it has " + name
}

// latest tells that the kubelet pulls an image always by default. Mirrors
// kubernetes pkg/apis/core/v1/defaults.go SetDefaults_Container, v1.37: the tag
// is latest, or there is neither tag nor digest.
func latest(image string) bool {
	if image == "" || strings.Contains(image, "@") {
		return false
	}
	name := image[strings.LastIndex(image, "/")+1:]
	_, tag, tagged := strings.Cut(name, ":")
	return !tagged || tag == "latest"
}

// hookLimit is how long a postStart hook may take before the pod's worker
// counts as stuck in it. The kubelet itself has no bound (kubelet
// pkg/kubelet/lifecycle/handlers.go, v1.37).
const hookLimit = 20 * time.Minute

// inHand tells whether the pod's worker may be busy with a start, a stop or a
// hook. Its steps are serial: a container that is down waits for them.
func (q question) inHand() (node.Answer, string) {
	p := q.f.about.pod
	if c, ok := q.call(p.manifest.Name, func(c node.RuntimeCall) bool { return begins(c) || ends(c) }, 0); ok {
		if _, known := q.owners[c.ContainerID]; !known && c.Age <= q.policy.Deadlines.HungCall.Duration {
			return node.Unknown, callText(c) + ", on a container that is not known yet"
		}
		return node.No, callText(c)
	}
	sb := q.f.about.sandbox
	if sb == nil {
		return node.Yes, ""
	}
	for _, containers := range [][]corev1.Container{p.manifest.Pod.Spec.InitContainers, p.manifest.Pod.Spec.Containers} {
		for i := range containers {
			c := &containers[i]
			rec, ok := sb.Newest(c.Name)
			if !ok || c.Name == q.f.key.Container || rec.State != node.ContainerRunning || c.Lifecycle == nil || c.Lifecycle.PostStart == nil {
				continue
			}
			age := max(q.now()-q.fault.Since, q.lived(q.ago(rec.StartedAt)))
			if st, viewed := p.status(c.Name); viewed && sb == p.current {
				if st.State.Running != nil && (st.ContainerID == "" || strings.HasSuffix(st.ContainerID, rec.ID)) {
					continue // it is told of once its hook is through
				}
				age = q.now() - q.fault.Since
			}
			if age > hookLimit {
				continue
			}
			return node.No, "the postStart hook of " + c.Name + " may still run"
		}
	}
	return node.Yes, ""
}

// silent tells that the kubelet does not deal with a container that is down:
// its view names no reason; without a view, nothing has been heard of the pod
// for longer than a working kubelet can be silent about a pod whose container
// is down.
func (q question) silent() (node.Answer, string) {
	p := q.f.about.pod
	if p.view != nil {
		st, ok := p.status(q.f.key.Container)
		if ok && st.State.Waiting != nil && !ordinary(st.State.Waiting.Reason) {
			return node.No, "the kubelet says " + st.State.Waiting.Reason
		}
	}
	told := q.snap.Kubelet.Told
	if said, heard := q.heard(); heard {
		return node.No, "the kubelet wrote " + said
	}
	if p.view != nil {
		switch {
		case told.Known():
		case p.volumesWait() > 0:
			return node.Unknown, "whether it waits for a volume only the kubelet's journal tells"
		case q.f.about.rec.StatusUnknown:
			return node.Unknown, "whether the runtime refuses the record's status to the kubelet too only its journal tells"
		}
		return node.Yes, ""
	}
	if p.manifest.Pod.Spec.ActiveDeadlineSeconds != nil {
		return node.Unknown, "whether its activeDeadlineSeconds are over, without a view"
	}
	switch {
	case !told.Known():
		return node.Unknown, "no view of the kubelet's pods, and its journal is not known"
	case told.From > max(q.died(), q.now()-blindSilence):
		return node.Unknown, "its journal is known for too short a time"
	case told.Last < q.died()-q.snap.Interval-blindSlack:
		// Nothing at all since then: the journal may not get its words any more.
		return node.Unknown, "it has written nothing at all since"
	}
	return node.Yes, "the kubelet has written nothing about it"
}

// died is when the container may have gone down: as the runtime says where that
// makes sense, or after the last look that may not have seen it. Where neither is
// known, it is when the kubelet could first have written of it.
func (q question) died() time.Duration {
	at := q.fault.First
	if q.fault.Before > 0 {
		at = q.fault.Before
	}
	if end := q.f.about.rec.FinishedAt; !end.IsZero() && !end.After(q.snap.Taken.Wall) {
		at = min(at, max(0, q.now()-q.ago(end)))
	} else if q.fault.Before == 0 {
		at = min(at, max(kubeletStarted(q.snap), q.f.about.seen.Since))
	}
	return at
}

// heard is what the kubelet has written about the pod not long ago.
func (q question) heard() (string, bool) {
	said, ok := q.snap.Kubelet.Told.Pods[q.f.about.manifest.Name]
	if !ok || said.At <= q.now()-blindSilence {
		return "", false
	}
	return span(q.now()-said.At) + " ago: " + cmp.Or(said.Reason, firstLine(said.Message)), true
}

// accepted tells that the kubelet does not refuse the pod's manifest.
func (q question) accepted() (node.Answer, string) {
	p := q.f.about.pod
	told := q.snap.Kubelet.Told
	if said, refused := q.refusal(p.manifest); refused {
		return node.No, "the kubelet refuses it: " + firstLine(said.Message)
	}
	if p.view == nil && p.manifest.Doubt != "" {
		return node.Unknown, firstLine(p.manifest.Doubt)
	}
	if p.view != nil {
		return node.Yes, "the kubelet lists the pod"
	}
	if told.Known() && q.now()-told.From > q.listings() {
		return node.Yes, "the kubelet has refused nothing"
	}
	return node.Unknown, "the kubelet does not list the pod, and its journal is not known"
}

// refusal is what the kubelet wrote about a manifest that it refuses. It repeats
// that each time that it lists them: an older one was about another content.
func (x *index) refusal(m *node.Manifest) (node.Said, bool) {
	said, ok := x.snap.Kubelet.Told.Manifests[m.Path]
	return said, ok && x.now()-said.At <= x.listings()
}

// listings is the time in which the kubelet has listed the manifests anew.
func (x *index) listings() time.Duration {
	return 3 * cmp.Or(x.snap.Settings.FileCheckFrequency, fileCheckFrequency)
}

const (
	// fileCheckFrequency is the kubelet's default: it lists the manifests as
	// often, and refuses the bad ones each time.
	fileCheckFrequency = 20 * time.Second
	// blindSilence is longer than a working kubelet is silent about a pod whose
	// container is down: it syncs the pod every 90 s at the latest, a sync waits
	// for volumes for 123 s, and each one that does not start the container is an
	// error in its journal (kubelet pkg/kubelet/pod_workers.go completeWork,
	// podWorkerLoop, volumemanager podAttachAndMountTimeout, v1.30 to v1.37).
	blindSilence = 150 * time.Second
	// blindSlack is how much earlier than the look that found the container down
	// the kubelet may have written of its end.
	blindSlack = 10 * time.Second
)

// ordinary tells waiting reasons of a container that has its turn to come.
func ordinary(reason string) bool {
	switch reason {
	case "", "CrashLoopBackOff", "ContainerCreating", "PodInitializing":
		return true
	}
	return false
}
