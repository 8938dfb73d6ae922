package report

import (
	"slices"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// Verdict is one thing that is not simply well at the moment.
type Verdict struct {
	Namespace, Pod, Container string
	State, Detail             string
	Look                      Look
	// For is how long, Next when a step may be taken, Blocked what forbids it.
	For, Next, Blocked string
	Overdue            bool
}

// now takes over the last status.
func (r *Report) now(a axis, src Sources) {
	s := src.Status
	if s == nil {
		return
	}
	r.Known, r.Stale = true, src.Stale
	r.Agent, r.Runtime = name(s.Agent.Version), name(strings.TrimSpace(s.Node.Runtime.Name+" "+s.Node.Runtime.Version))
	r.DryRun, r.Paused, r.Withheld = s.Agent.DryRun, line(s.Node.Paused), line(s.Agent.Withheld)
	pods, troubled := map[node.PodName]bool{}, map[node.PodName]bool{}
	var wrong []status.Verdict
	for _, v := range s.Verdicts {
		key := node.PodName{Namespace: v.Namespace, Name: v.Pod}
		if v.Pod != "" && v.State != restartpolicy.NoManifest {
			pods[key] = true
		}
		if v.Trouble() && v.Pod != "" {
			troubled[key] = true
		}
		if v.Trouble() || v.State == restartpolicy.Starting {
			wrong = append(wrong, v)
		}
	}
	r.Pods, r.Troubled = len(pods), len(troubled)
	slices.SortStableFunc(wrong, func(a, b status.Verdict) int {
		switch {
		case a.Overdue == b.Overdue:
			return int(lookOfState(b.State) - lookOfState(a.State))
		case a.Overdue:
			return -1
		}
		return 1
	})
	r.MoreNow = max(0, len(wrong)-a.most.now)
	for _, v := range wrong[:len(wrong)-r.MoreNow] {
		r.Now = append(r.Now, r.verdict(v))
	}
	for _, p := range s.Node.Manifests.Problems {
		r.note("manifest " + p.Path + ": " + p.Message)
	}
	for _, trouble := range [][2]string{
		{"the container runtime does not answer", s.Node.Runtime.Error}, {"the manifest directory", s.Node.Manifests.Error},
		{"the kubelet's configuration", s.Node.SettingsError},
	} {
		if trouble[1] != "" {
			r.note(trouble[0] + ": " + trouble[1])
		}
	}
}

func (r *Report) verdict(v status.Verdict) Verdict {
	out := Verdict{
		Namespace: name(v.Namespace), Pod: r.short(name(v.Pod)), Container: name(v.Container), State: word(string(v.State)), Detail: line(v.Detail),
		Look: lookOfState(v.State), For: span(time.Duration(v.ForSeconds) * time.Second), Overdue: v.Overdue,
		Blocked: line(strings.Join(v.BlockedBy, ", ")),
	}
	switch {
	case v.Next == nil:
	case *v.Next <= 0:
		out.Next = "due"
	default:
		out.Next = "in " + span(time.Duration(*v.Next)*time.Second)
	}
	return out
}
