package restartpolicy

import (
	"cmp"
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
			case k.Unit.ProcessState == "D" || k.Process.State == "D":
				return node.Unknown, "its process is in state D: it may hang in the kernel"
			case k.Unit.Up():
				return node.Yes, ""
			case k.Process.PID > 0 && !bySignal(k.Process.State):
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
	imagePresent = claimKind{"image-present", "its image, and those of siblings that are down, are there, so that none is being pulled",
		func(q question) (node.Answer, string) { return q.images() }}
	nothingInHand = claimKind{"nothing-in-hand", "no start, stop or hook of the pod is in hand",
		func(q question) (node.Answer, string) { return q.inHand() }}
	notDealtWith = claimKind{"not-dealt-with", "the kubelet gives no reason why it is down; without a view of its pods: it has written nothing about the pod since",
		func(q question) (node.Answer, string) { return q.silent() }}
	newRevision = claimKind{"new-revision", "the manifest stands for a newer generation than the one that is there",
		func(q question) (node.Answer, string) {
			if said, heard := q.heard(); heard {
				return node.No, "the kubelet still syncs the old one: " + said
			}
			if graceOf(q.f.about.sandbox) < 0 {
				return node.Unknown, "the old one's grace is not known"
			}
			return q.f.about.newer()
		}}
	oldImagePresent = claimKind{"image-present", "what the old one's containers were made from is there, so that none is being pulled",
		func(q question) (node.Answer, string) { return q.oldImages(q.f.about.sandbox) }}
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
				for _, call := range q.calls {
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
			for _, c := range q.calls {
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
			return node.AnswerOf(mayPassLater(reason)), "reason " + cmp.Or(reason, "not given")
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

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return strings.ToValidUTF8(s[:min(160, len(s))], "")
}
