package restartpolicy

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// pod is everything one snapshot holds about one manifest's pod.
type pod struct {
	*index
	manifest  *node.Manifest
	seen      ManifestSeen
	sandboxes []*node.Sandbox
	// view is the kubelet's; nil if there is none.
	view  *node.PodView
	grace time.Duration
	// uid is the current generation's, or empty if it cannot be told; uidFrom
	// says how it is known, and is empty where it is only likely.
	uid, uidFrom string
	// current is the active sandbox of that generation; nil if there is none.
	current *node.Sandbox
	// old are ready sandboxes of other generations.
	old []*node.Sandbox
	// foreign is set when a ready sandbox of that name came from no manifest, or
	// any does not say where it came from.
	foreign bool
}

func (x *index) pod(m *node.Manifest) *pod {
	p := &pod{index: x, manifest: m, seen: x.history.Manifests[m.Name.String()], view: x.views[m.Name], sandboxes: x.sandboxes[m.Name], grace: m.Grace()}
	p.uid, p.uidFrom = p.generation()
	for _, sb := range p.sandboxes {
		switch {
		case !sb.Static():
			p.foreign = p.foreign || sb.Ready || sb.Source == ""
		case p.uid != "" && sb.UID == p.uid:
			if p.current == nil || betterSandbox(sb, p.current) {
				p.current = sb
			}
		case sb.Ready:
			p.old = append(p.old, sb)
		}
	}
	return p
}

// betterSandbox prefers a ready sandbox, then the later attempt.
func betterSandbox(a, b *node.Sandbox) bool {
	if a.Ready != b.Ready {
		return a.Ready
	}
	return a.Attempt > b.Attempt
}

// generation tells which UID the manifest stands for, and how that is known.
// The kubelet's hash is not computed: it differs between versions. Nor does the
// file's modification time say anything.
func (p *pod) generation() (uid, from string) {
	switch {
	case p.manifest.Pod.UID != "":
		return string(p.manifest.Pod.UID), "the manifest names its UID"
	case p.view != nil:
		return p.view.UID, "the kubelet names its UID"
	case p.seen.UID != "":
		return p.seen.UID, "seen with this content"
	}
	// Blind: the one generation that came after the content changed before our
	// eyes, or the only one there is.
	var candidates []string
	for _, sb := range p.sandboxes {
		if sb.Static() && !slices.Contains(p.seen.Before, sb.UID) && !slices.Contains(candidates, sb.UID) {
			candidates = append(candidates, sb.UID)
		}
	}
	switch {
	case len(candidates) != 1:
		return "", ""
	case p.seen.Changed:
		return candidates[0], "it came after the manifest changed"
	case p.contradicts(p.sandboxOf(candidates[0])) != "":
		return "", ""
	}
	return candidates[0], ""
}

func (p *pod) sandboxOf(uid string) *node.Sandbox {
	for _, sb := range p.sandboxes {
		if sb.UID == uid {
			return sb
		}
	}
	return nil
}

// contradicts names a label or annotation in which a sandbox differs from the
// manifest, or returns "". The kubelet copies both to the sandbox (kubelet
// pkg/kubelet/kuberuntime/labels.go newPodLabels, newPodAnnotations, v1.37), so
// that a difference proves another revision; OpenShift's have a label for it.
func (p *pod) contradicts(sb *node.Sandbox) string {
	meta := &p.manifest.Pod.ObjectMeta
	for key, value := range meta.Labels {
		if sb.Labels[key] != value {
			return "label " + key
		}
	}
	for key, value := range meta.Annotations {
		// Runtimes take some away: only another value is proof.
		if has, ok := sb.Annotations[key]; ok && has != value && !strings.HasPrefix(key, "kubernetes.io/config.") {
			return "annotation " + key
		}
	}
	return ""
}

// newer tells whether the manifest stands for a generation newer than the
// sandbox that the claim is about, and how that is known.
func (a *subjectOf) newer() (node.Answer, string) {
	switch {
	case a.manifest.Pod.UID != "" && string(a.manifest.Pod.UID) != a.sandbox.UID:
		return node.Yes, "the manifest names another UID"
	case a.view != nil && a.view.UID != a.sandbox.UID:
		return node.Yes, "the kubelet lists another UID"
	case slices.Contains(a.seen.Before, a.sandbox.UID):
		return node.Yes, "the manifest changed before our eyes"
	}
	if what := a.contradicts(a.sandbox); what != "" {
		return node.Yes, "they differ in " + what
	}
	told := a.snap.Kubelet.Told
	if at, ok := told.NotDeleted[a.manifest.Name]; ok && a.view == nil && at > a.now()-a.ago(a.sandbox.CreatedAt) {
		return node.Yes, "the kubelet wrote that it could not let the old one go"
	}
	return node.Unknown, "no change was seen, and nothing names the UID"
}

// learned notes the UIDs of the contents that manifests have now, whether they
// have run, and that they were rejected.
func (x *index) learned(manifests map[string]ManifestSeen) {
	for _, p := range x.pods {
		name := p.manifest.Name.String()
		seen, ok := manifests[name]
		if ok {
			seen.Ran = seen.Ran || p.current != nil
			if p.view == nil && p.current == nil {
				seen.Rejected = p.rejected()
			}
			manifests[name] = seen
		}
		if ok && p.uidFrom != "" && p.manifest.Pod.UID == "" && p.uid != seen.UID && p.current != nil &&
			!slices.Contains(seen.Before, p.uid) && p.contradicts(p.current) == "" {
			seen.UID = p.uid
			manifests[name] = seen
		}
	}
}

// diagnose appends what is to be said of the pod.
func (p *pod) diagnose(out []finding) []finding {
	whole := Key{PodName: p.manifest.Name}
	if p.optedOut() {
		return append(out, finding{key: whole, state: Excluded, detail: "annotation " + OptOut + ": off"})
	}
	if p.snap.Runtime.Err != nil {
		return append(out, finding{key: whole, state: Unknown, detail: "the runtime does not answer"})
	}
	if f, ok := p.oldGeneration(); ok {
		out = append(out, f)
	}
	if p.view != nil && p.view.Terminating {
		return append(out, finding{key: whole, state: IntendedDown, detail: "the pod is terminating"})
	}
	if f, ok := p.notBegun(); ok {
		return append(out, f)
	}
	if p.current.Ready && p.current.Process.Dead() && p.anyDown() {
		f := p.whole(SandboxLost, p.current, "the runtime says ready, its process is gone")
		f.wait = p.policy.Deadlines.StaleRunning.Duration
		return append(out, f)
	}
	return p.containers(out)
}

// anyDown tells that a container of the manifest does not run. While all run,
// nothing is to be brought back.
func (p *pod) anyDown() bool {
	for i := range p.manifest.Pod.Spec.Containers {
		if rec, _ := p.current.Newest(p.manifest.Pod.Spec.Containers[i].Name); rec.State != node.ContainerRunning || rec.Process.Dead() {
			return true
		}
	}
	return false
}

func (p *pod) optedOut() bool {
	off := p.manifest.Pod.Annotations[OptOut] == "off"
	for _, sb := range p.sandboxes {
		off = off || sb.Annotations[OptOut] == "off"
	}
	return off
}

// whole is a finding about the pod as a whole and one sandbox of it.
func (p *pod) whole(state State, sb *node.Sandbox, detail string) finding {
	return finding{key: Key{PodName: p.manifest.Name}, state: state, detail: detail,
		target: p.target(sb), about: &subjectOf{pod: p, sandbox: sb}}
}

// target pins the manifest, and a sandbox if there is one.
func (p *pod) target(sb *node.Sandbox) Target {
	t := Target{UID: p.uid, Manifest: p.manifest.Path, Digest: p.manifest.Digest, Grace: p.grace}
	if sb != nil {
		t.SandboxID, t.UID = sb.ID, sb.UID
		t.Grace = max(graceOf(sb), 0)
		if t.Grace == 0 && sb.UID == p.uid {
			t.Grace = p.grace
		}
	}
	return t
}

// lastStart is when a container of the sandbox was last started, on the boot clock;
// 0 if nothing that makes sense tells.
func (p *pod) lastStart(sb *node.Sandbox) time.Duration {
	last := time.Duration(0)
	for i := range sb.Containers {
		if at := sb.Containers[i].StartedAt; !at.IsZero() && !at.After(p.snap.Taken.Wall) {
			last = max(last, p.now()-p.ago(at))
		}
	}
	return last
}

// graceOf is the grace period that the kubelet wrote on the sandbox's
// containers: that of its own generation. Negative if it is unknown of any.
func graceOf(sb *node.Sandbox) time.Duration {
	grace := time.Duration(-1)
	for i := range sb.Containers {
		if sb.Containers[i].Grace < 0 {
			return -1
		}
		grace = max(grace, sb.Containers[i].Grace)
	}
	return grace
}

// status is the kubelet's of one container, if it has synced this generation.
func (p *pod) status(container string) (corev1.ContainerStatus, bool) {
	if p.view == nil || p.view.UID != p.uid {
		return corev1.ContainerStatus{}, false
	}
	return p.view.Status(container)
}
