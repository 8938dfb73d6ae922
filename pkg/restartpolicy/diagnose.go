package restartpolicy

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// OptOut is the pod annotation that keeps the restart guarantee away from a
// pod when its value is "off".
const OptOut = "nodekeeper.io/restart"

// finding is what one snapshot says about one key, before its history is
// known.
type finding struct {
	key    Key
	state  State
	detail string
	// wait is how long the finding may last before a step is due, counted from
	// when it was first seen.
	wait time.Duration
	// from replaces "first seen" as the start of the wait; 0 for none.
	from   time.Duration
	ladder []StepKind
	target Target
}

// diagnose looks at every pod and service of a snapshot on its own.
func diagnose(policy config.Restart, s *node.Snapshot) []finding {
	y := newSurvey(policy, s)
	out := make([]finding, 0, len(s.Intent.Pods)+len(s.Intent.Problems)+2)
	out = append(out, diagnoseServices(policy, s)...)
	for _, p := range s.Intent.Problems {
		out = append(out, finding{
			key:   Key{PodName: p.Pod, Container: p.Path},
			state: ManifestBad, detail: p.Message,
		})
	}
	for i := range s.Intent.Pods {
		out = append(out, newPodFacts(y, &s.Intent.Pods[i]).diagnose()...)
	}
	return append(out, y.strays()...)
}

// strays are static pods that run without a manifest: an admin took it away,
// or it cannot be read. They are listed and never touched.
func (y *survey) strays() []finding {
	var out []finding
	seen := map[node.PodName]bool{}
	for i := range y.snap.Runtime.Sandboxes {
		sb := &y.snap.Runtime.Sandboxes[i]
		if !sb.Ready || y.manifests[sb.Pod] || seen[sb.Pod] || !sb.Static() {
			continue
		}
		seen[sb.Pod] = true
		f := finding{key: Key{PodName: sb.Pod}, state: NoManifest, detail: "runs without a manifest"}
		if err := y.snap.Intent.Err; err != nil {
			f.state, f.detail = Unknown, "manifests cannot be read: "+err.Error()
		}
		out = append(out, f)
	}
	return out
}

// podFacts is everything one snapshot holds about one manifest's pod.
type podFacts struct {
	*survey
	manifest  *node.Manifest
	sandboxes []*node.Sandbox
	// view is the kubelet's; nil if there is none.
	view  *node.PodView
	grace time.Duration
	// uid is the current generation's, or empty if it cannot be told.
	uid string
	// current is the active sandbox of that generation; nil if there is none.
	current *node.Sandbox
	// old are ready sandboxes of earlier generations.
	old []*node.Sandbox
}

func newPodFacts(y *survey, m *node.Manifest) *podFacts {
	p := &podFacts{survey: y, manifest: m, view: y.views[m.Name], sandboxes: y.sandboxes[m.Name], grace: graceOf(m.Pod)}
	p.uid = p.currentUID()
	for _, sb := range p.sandboxes {
		switch {
		case sb.UID == p.uid:
			if p.current == nil || betterSandbox(sb, p.current) {
				p.current = sb
			}
		case sb.Ready && sb.Static() && p.uid != "":
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

func graceOf(pod *corev1.Pod) time.Duration {
	if g := pod.Spec.TerminationGracePeriodSeconds; g != nil {
		return time.Duration(*g) * time.Second
	}
	return corev1.DefaultTerminationGracePeriodSeconds * time.Second
}

// currentUID tells which generation the manifest stands for. The kubelet's
// hash is not re-computed: it differs between versions. In order: a UID in the
// file, the kubelet's view, the only generation there is, and the only one
// that is younger than the manifest.
func (p *podFacts) currentUID() string {
	if p.manifest.Pod.UID != "" {
		return string(p.manifest.Pod.UID)
	}
	if p.view != nil {
		return p.view.UID
	}
	younger := map[string]bool{}
	older := map[string]bool{}
	for _, sb := range p.sandboxes {
		if sb.CreatedAt.After(p.manifest.Modified) {
			younger[sb.UID] = true
		} else {
			older[sb.UID] = true
		}
	}
	if len(younger) == 1 {
		for uid := range younger {
			return uid
		}
	}
	if len(younger) == 0 && len(older) == 1 && !p.snap.Kubelet.View.SourcesNotReady {
		for uid := range older {
			return uid
		}
	}
	return ""
}

func (p *podFacts) diagnose() []finding {
	whole := Key{PodName: p.manifest.Name}
	if p.optedOut() {
		return []finding{{key: whole, state: Excluded, detail: "annotation " + OptOut + ": off"}}
	}
	if p.snap.Runtime.Err != nil {
		return []finding{{key: whole, state: Unknown, detail: "the runtime does not answer"}}
	}
	out := p.oldGenerations()
	if p.view != nil && p.view.Terminating {
		return append(out, finding{key: whole, state: IntendedDown, detail: "the pod is terminating"})
	}
	if f, ok := p.notBegun(); ok {
		return append(out, f)
	}
	if p.current == nil {
		return append(out, finding{key: whole, state: Unknown,
			detail: "cannot tell which generation the manifest stands for"})
	}
	if len(out) == 0 {
		return p.containers()
	}
	return append(out, p.containers()...)
}

func (p *podFacts) optedOut() bool {
	off := p.manifest.Pod.Annotations[OptOut] == "off"
	for _, sb := range p.sandboxes {
		off = off || sb.Annotations[OptOut] == "off"
	}
	return off
}

func (p *podFacts) target(sb *node.Sandbox) Target {
	t := Target{Manifest: p.manifest.Path, Digest: p.manifest.Digest, Grace: p.grace, UID: p.uid}
	if sb != nil {
		t.SandboxID, t.UID = sb.ID, sb.UID
		if g := sandboxGrace(sb); g >= 0 {
			t.Grace = g
		}
	}
	return t
}

// sandboxGrace is the grace period that the kubelet wrote on the sandbox's
// containers: that of its own generation. Negative if unknown.
func sandboxGrace(sb *node.Sandbox) time.Duration {
	grace := time.Duration(-1)
	for _, c := range sb.Containers {
		grace = max(grace, c.Grace)
	}
	return grace
}

func since(n time.Duration) string { return n.Round(time.Second).String() }
