package restartpolicy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// Claim is one fact that a step rests on. A step is taken only when all claims
// of its proof are answered with Yes: what is not known holds it back like what
// is not so.
type Claim struct {
	Name   string      `json:"name"`
	Answer node.Answer `json:"answer"`
	// Detail is one line: what was seen, or what cannot be.
	Detail string `json:"detail,omitempty"`
}

// String is one line for people.
func (c Claim) String() string {
	text := c.Name + ": " + c.Answer.String()
	if c.Detail != "" {
		text += " (" + c.Detail + ")"
	}
	return text
}

// subjectOf is what the claims of a finding may ask of.
type subjectOf struct {
	*pod
	container *corev1.Container
	rec       node.Container
	sandbox   *node.Sandbox
}

// question is what a claim is asked with.
type question struct {
	*index
	f     *finding
	fault Fault
}

// claimKind is one kind of claim: its name, its words in docs/verdicts.md, and
// how it is answered.
type claimKind struct {
	name, text string
	ask        func(q question) (node.Answer, string)
}

func (x *index) prove(r *Row, f *finding, fault Fault) []Claim {
	proof := make([]Claim, 0, len(r.Proof))
	for _, k := range r.Proof {
		answer, detail := k.ask(question{x, f, fault})
		proof = append(proof, Claim{Name: k.name, Answer: answer, Detail: detail})
	}
	return proof
}

var (
	kubeletRuns = claimKind{"kubelet-runs", "the kubelet's process is known and runs",
		func(q question) (node.Answer, string) {
			k := q.snap.Kubelet
			switch {
			case k.Unit.Err != nil:
				return node.Unknown, "its unit cannot be seen"
			case k.Unit.Up():
				return node.Yes, ""
			case k.Process.PID > 0 && k.Process.State != "T" && k.Process.State != "D" && k.Process.State != "Z":
				return node.Yes, "process " + fmt.Sprint(k.Process.PID)
			}
			return node.No, unitText(k.Unit)
		}}
	sandboxReady = claimKind{"sandbox-ready", "its sandbox is ready, and so is the network that it needs",
		func(q question) (node.Answer, string) {
			p := q.f.about.pod
			switch {
			case p.current == nil:
				return node.No, "there is none"
			case !p.current.Ready:
				return node.No, "the kubelet has to make it anew"
			case p.current.Process.Dead():
				return node.No, "its own process is gone"
			case p.current.Process.PID > 0 && p.current.Process.State == node.ProcessUnknown:
				return node.Unknown, "whether its own process lives"
			}
			return q.network(p.manifest.Pod)
		}}
	networkReady = claimKind{"network-ready", "the network that it needs is ready",
		func(q question) (node.Answer, string) { return q.network(q.f.about.manifest.Pod) }}
	imagePresent = claimKind{"image-present", "its image is there, so that none is being pulled",
		func(q question) (node.Answer, string) { return q.images() }}
	nothingInHand = claimKind{"nothing-in-hand", "no start, stop or hook of the pod is in hand",
		func(q question) (node.Answer, string) { return q.inHand() }}
	notDealtWith = claimKind{"not-dealt-with", "the kubelet gives no reason why it is down; without a view of its pods: it has written nothing about the pod since",
		func(q question) (node.Answer, string) { return q.silent() }}
	newRevision = claimKind{"new-revision", "the manifest stands for a newer generation than the one that is there",
		func(q question) (node.Answer, string) {
			if said, heard := q.heard(); heard && q.f.about.view == nil {
				return node.No, "the kubelet still syncs the old one: " + said
			}
			if graceOf(q.f.about.sandbox) < 0 {
				return node.Unknown, "the old one's grace is not known"
			}
			return q.f.about.newer()
		}}
	oldIsDown = claimKind{"old-is-down", "a container of the old generation is down, or the kubelet itself says that the new one waits",
		func(q question) (node.Answer, string) {
			p := q.f.about.pod
			if _, down := p.firstDown(q.f.about.sandbox); down {
				return node.Yes, ""
			}
			if p.view != nil {
				return node.Yes, "the kubelet lists it without statuses"
			}
			return node.No, "all of it runs"
		}}
	generationKnown = claimKind{"generation-known", "which generation the manifest stands for is known",
		func(q question) (node.Answer, string) {
			p := q.f.about.pod
			if graceOf(q.f.about.sandbox) < 0 {
				return node.Unknown, "the old one's grace is not known"
			}
			for i := range q.snap.Kubelet.View.Pods {
				if q.snap.Kubelet.View.Pods[i].UID == q.f.about.sandbox.UID {
					return node.No, "the kubelet still has the old one"
				}
			}
			if p.uid != "" && p.uidFrom != "" {
				return node.Yes, p.uidFrom
			}
			return node.Unknown, "neither the kubelet nor the manifest names the UID, and no change was seen"
		}}
	accepted = claimKind{"accepted", "the kubelet has accepted the manifest: it lists the pod, or has refused nothing in its journal",
		func(q question) (node.Answer, string) { return q.accepted() }}
	processGone = claimKind{"process-gone", "its first process is gone, and so is all of its control group",
		func(q question) (node.Answer, string) {
			p := q.f.about.rec.Process
			if q.f.state == SandboxLost {
				p = q.f.about.sandbox.Process
			}
			return node.AnswerOf(p.Dead()), fmt.Sprintf("process %d", p.PID)
		}}
	bothRun = claimKind{"both-run", "two attempts of one container run, each with a living process, and neither is being started or stopped",
		func(q question) (node.Answer, string) {
			for i := range q.f.about.sandbox.Containers {
				c := &q.f.about.sandbox.Containers[i]
				if c.Name != q.f.key.Container || c.State != node.ContainerRunning {
					continue
				}
				if c.Process.State != node.ProcessAlive {
					return node.Unknown, fmt.Sprintf("process %d of attempt %d", c.Process.PID, c.Attempt)
				}
				if c.Process.Frozen {
					return node.No, fmt.Sprintf("attempt %d is frozen", c.Attempt)
				}
				for _, call := range calls(q.snap) {
					if call.ContainerID == c.ID && (begins(call) || ends(call)) {
						return node.No, callText(call)
					}
				}
			}
			return node.Yes, ""
		}}
	recordDead = claimKind{"record-dead", "the record is of this pod, has no process, and no call works on it",
		func(q question) (node.Answer, string) {
			a := q.f.about
			if a.rec.State != node.ContainerExited && a.rec.State != node.ContainerCreated {
				return node.No, "it is " + string(a.rec.State)
			}
			for _, c := range calls(q.snap) {
				if c.ContainerID == a.rec.ID {
					return node.No, callText(c)
				}
			}
			return node.Yes, ""
		}}
	mayPass = claimKind{"may-pass", "the reason of the rejection may pass, and a retry could tell",
		func(q question) (node.Answer, string) {
			p := q.f.about.pod
			reason := p.rejected()
			if reason == "NodePorts" {
				other := p.portTakenBy()
				return node.AnswerOf(other == ""), strings.TrimSuffix("reason NodePorts; the port is wanted by "+other, "; the port is wanted by ")
			}
			return node.AnswerOf(mayPassLater(reason)), "reason " + orElse(reason, "not given")
		}}
	runtimeTimesOut = claimKind{"runtime-times-out", "the runtime lets creations or starts time out, again and again, or keeps a name reserved",
		func(q question) (node.Answer, string) { return node.AnswerOf(runtimesFault(q.f.detail)), "" }}
	callHangs = claimKind{"call-hangs", "a call that the runtime or its monitor has begun has outlived its time",
		func(q question) (node.Answer, string) {
			if q.f.state == StopHung && graceOf(q.f.about.sandbox) < 0 {
				return node.Unknown, "whether it is still within its grace, which is not known"
			}
			return node.Yes, ""
		}}
	kubeletAtFault = claimKind{"kubelet-at-fault", "its process is gone and systemd will not start it, or it is stopped by a signal, hung, or started without any pod",
		func(q question) (node.Answer, string) { return q.kubeletFault() }}
	runtimeAtFault = claimKind{"runtime-at-fault", "it is gone and systemd will not start it, or stopped by a signal, or silent to a probe for all of that time",
		func(q question) (node.Answer, string) { return q.runtimeFault() }}
)

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

// images tells whether no image can be on its way that the container waits for:
// its own, those of containers that are started before it, and those of volumes.
// The pod's worker pulls one after the other (kubelet pkg/kubelet/kuberuntime
// SyncPod, v1.37).
func (q question) images() (node.Answer, string) {
	p, spec := q.f.about.pod, &q.f.about.manifest.Pod.Spec
	for i := range spec.Volumes {
		if v := spec.Volumes[i].Image; v != nil && v.PullPolicy != corev1.PullNever {
			if q.snap.Runtime.Images[v.Reference] != node.Yes {
				return node.Unknown, "whether the image of volume " + spec.Volumes[i].Name + " is there"
			}
		}
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			c := &containers[i]
			if c.Name == q.f.key.Container {
				return q.image(c)
			}
			if rec, _ := p.current.Newest(c.Name); rec.State == node.ContainerRunning || p.plainInit(c.Name) && rec.State == node.ContainerExited {
				continue
			}
			if answer, why := q.image(c); answer != node.Yes {
				return answer, why + ", of " + c.Name
			}
		}
	}
	return q.image(q.f.about.container)
}

// image tells whether no image of the container can be on its way.
func (q question) image(c *corev1.Container) (node.Answer, string) {
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
	switch answer := q.snap.Runtime.Images[c.Image]; answer {
	case node.Yes:
		return answer, ""
	case node.No:
		return answer, "it is being pulled, or cannot be: " + c.Image
	}
	return node.Unknown, "the runtime has not told whether it has " + c.Image
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
	if p.current == nil {
		return node.Yes, ""
	}
	for _, containers := range [][]corev1.Container{p.manifest.Pod.Spec.InitContainers, p.manifest.Pod.Spec.Containers} {
		for i := range containers {
			c := &containers[i]
			rec, ok := p.current.Newest(c.Name)
			if !ok || c.Name == q.f.key.Container || rec.State != node.ContainerRunning ||
				c.Lifecycle == nil || c.Lifecycle.PostStart == nil || q.now()-q.fault.Since > hookLimit {
				continue
			}
			if st, viewed := p.status(c.Name); viewed && st.State.Running != nil {
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
		if p.volumesWait() > 0 && !told.Known() {
			return node.Unknown, "whether it waits for a volume only the kubelet's journal tells"
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

// died is when the container went down: as the runtime says, where that makes
// sense, and no later than when it was first seen.
func (q question) died() time.Duration {
	at := q.fault.First
	if end := q.f.about.rec.FinishedAt; !end.IsZero() && !end.After(q.snap.Taken.Wall) {
		at = min(at, max(0, q.now()-q.ago(end)))
	}
	return at
}

// heard is what the kubelet has written about the pod not long ago.
func (q question) heard() (string, bool) {
	said, ok := q.snap.Kubelet.Told.Pods[q.f.about.manifest.Name]
	if !ok || said.At <= q.now()-blindSilence {
		return "", false
	}
	return span(q.now()-said.At) + " ago: " + orElse(said.Reason, firstLine(said.Message)), true
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
	return 3 * orElseD(x.snap.Settings.FileCheckFrequency, fileCheckFrequency)
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

// mayPassLater tells rejections whose reason another pod's end, or time, may
// take away. What the pod itself asks for (a node selector, a host port that
// another static pod holds, an OS) no retry changes.
func mayPassLater(reason string) bool {
	return strings.HasPrefix(reason, "OutOf") ||
		slices.Contains([]string{"", "UnexpectedAdmissionError", "TopologyAffinityError", "Preempting", "NodeShutdown", "Terminated", "Shutdown"}, reason)
}

func callText(c node.RuntimeCall) string {
	return fmt.Sprintf("runtime call %s (process %d) has been running for %s", c.Verb, c.PID, span(c.Age))
}

func span(d time.Duration) string { return d.Round(time.Second).String() }

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func orElseD(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return strings.ToValidUTF8(s[:min(160, len(s))], "")
}
