package restartpolicy

import (
	"slices"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// OptOut is the pod annotation that keeps the restart guarantee away from a
// pod when its value is "off".
const OptOut = "nodekeeper.io/restart"

// finding is what one snapshot says about one key, before its age is known.
type finding struct {
	key Key
	// id is its fault's, once that is on record.
	id     string
	state  State
	detail string
	// wait is how long the finding may last before a step is due, counted from
	// when it was first seen, or from the moment from where that is not 0.
	wait, from time.Duration
	// after is the moment before which nothing counts: what is waited for began
	// anew then.
	after time.Duration
	// down tells that a container of the old generation is down.
	down bool
	// newest is the container's newest record, where the target is another.
	newest *node.Container
	// overdue is the state once that time has passed; empty for the same.
	overdue State
	target  Target
	// about is what claims may ask of; nil for a service.
	about *subjectOf
}

// Judge says what is wrong with every guarded pod of the snapshot, since when,
// and until when to wait. It returns the history for the next look; the
// arguments are not changed. The verdicts are in a stable order.
func Judge(policy config.Restart, s *node.Snapshot, h History) ([]Verdict, History) {
	x := newIndex(policy, s, h)
	findings := x.diagnose()
	next := x.history.end(s, findings)
	verdicts := make([]Verdict, 0, len(findings))
	for i := range findings {
		verdicts = append(verdicts, x.verdict(&findings[i], &next))
	}
	x.learned(next.Manifests)
	return verdicts, next
}

func (x *index) verdict(f *finding, h *History) Verdict {
	fault := h.Faults[f.id]
	v := Verdict{Key: f.key, State: f.state, Detail: f.detail, Since: fault.Since, Looks: fault.Looks, Target: f.target, history: h, first: fault.First}
	if f.state == Unknown {
		v.Since = x.now()
		return v
	}
	row := rowOf(f.state)
	if f.overdue != "" {
		row = rowOf(f.overdue)
	}
	if len(row.Steps) == 0 {
		return v
	}
	v.Steps = row.Steps
	v.Proof = x.prove(row, f, fault)
	fault.prove(v.Missing(), x.now())
	h.Faults[f.id] = fault
	named := h.Faults[string(StartFailing)+f.id[strings.Index(f.id, "|"):]]
	v.Due = x.due(f, fault, named)
	if f.overdue != "" && x.now() >= v.Due {
		v.State = f.overdue
	}
	return v
}

// blink is how long a source may be silent without the proof beginning anew: a
// busy node acts later, and not never. The look itself takes no step.
const blink = 30 * time.Second

// prove notes since when the proof holds.
func (f *Fault) prove(missing []Claim, now time.Duration) {
	refuted := slices.ContainsFunc(missing, func(c Claim) bool { return c.Answer == node.No })
	switch {
	case len(missing) == 0:
		f.Held = now
		if f.Proved == 0 {
			f.Proved = now
		}
	case refuted || now-f.Held > blink:
		f.Proved = 0
	}
}

// proofHolds is how long all claims of a proof must have held: what a worker
// waited for may just have ended, and the worker has its turn first. A working
// kubelet syncs a pod within 90 s (kubelet pkg/kubelet/pod_workers.go
// completeWork, v1.37).
const proofHolds = 100 * time.Second

// due is when a step may be taken about a finding. A failure that the kubelet
// named meanwhile puts it off.
func (x *index) due(f *finding, fault, named Fault) time.Duration {
	from, hold := max(fault.Since, f.after), min(f.wait, proofHolds)
	if f.from > 0 {
		// A call has an age of its own, and the node may have slept since it began.
		from, hold = f.from, f.wait-x.policy.Deadlines.HungCall.Duration
	}
	if f.key.Name == "" && f.from == 0 {
		// A service must have been so all the time.
		hold = max(f.wait, fault.Wait)
	}
	at := from + f.wait
	if f.from == 0 {
		at = from + max(f.wait, fault.Wait)
	}
	if fault.Proved > 0 {
		at = max(at, fault.Proved+hold)
	}
	if f.state == StartHung && fault.HungSince > 0 {
		// One may end at last, and the next hang as well.
		at = min(at, fault.HungSince+x.policy.Deadlines.StartFailing.Duration)
	}
	if f.overdue != "" && fault.LastHung > 0 {
		// A creation that outlived the kubelet's call is given the time that the
		// runtime needs to notice; a restart would only begin the round again.
		at = max(at, fault.LastHung+x.policy.Deadlines.HungStart.Duration)
	}
	if f.overdue != "" && named.Seen > 0 {
		at = max(at, named.Seen+f.wait)
	}
	return at
}

// diagnose looks at every service, manifest and pod of the snapshot.
func (x *index) diagnose() []finding {
	s := x.snap
	out := make([]finding, 0, len(s.Intent.Pods)+len(s.Intent.Problems)+2)
	out = append(out, x.runtime(), x.kubelet())
	for _, p := range s.Intent.Problems {
		out = append(out, finding{key: Key{PodName: p.Pod, Container: p.Path}, state: ManifestBad, detail: p.Message})
	}
	for i := range s.Intent.Pods {
		p := x.pod(&s.Intent.Pods[i])
		x.pods = append(x.pods, p)
		out = p.diagnose(out)
	}
	return append(out, x.orphans()...)
}

// orphans are static pods that run without a manifest: an admin took it away,
// or it cannot be read, or it is not a file. They are listed and never touched.
func (x *index) orphans() []finding {
	var out []finding
	seen := map[node.PodName]bool{}
	for i := range x.snap.Runtime.Sandboxes {
		sb := &x.snap.Runtime.Sandboxes[i]
		if !sb.Ready || x.manifests[sb.Pod] || seen[sb.Pod] || !sb.Static() {
			continue
		}
		seen[sb.Pod] = true
		f := finding{key: Key{PodName: sb.Pod}, state: NoManifest, detail: "runs without a manifest"}
		switch err := x.snap.Intent.Err; {
		case sb.Source == "http":
			f.detail = "its manifest comes from a URL (staticPodURL), which is not read here"
		case err != nil:
			f.state, f.detail = Unknown, "manifests cannot be read: "+firstLine(err.Error())
		}
		out = append(out, f)
	}
	return out
}
