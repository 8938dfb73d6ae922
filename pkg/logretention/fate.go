package logretention

import (
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/ending"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// coarse is how far two time stamps of one moment may be apart, which programs
// took of different clocks and files.
const coarse = 2 * time.Second

// fate is what became of an attempt's pod by the time that the attempt ended;
// finished is zero if nobody knows when that was. The manifest's digest is what
// it was when the attempt was first seen; empty if unknown.
func fate(s *node.Snapshot, a *attempt, finished time.Time) ending.Fate {
	if s == nil {
		return ending.FateUnknown
	}
	manifest, found := s.Intent.Find(a.podName())
	// What was changed after the end did not bring it about.
	late := found && s.Intent.Err == nil && !finished.IsZero() && manifest.Modified.After(finished.Add(coarse))
	switch {
	case late:
		return ending.Stays
	case newerGeneration(s, a):
		return ending.Replaced
	case s.Intent.Err != nil || a.byURL:
		return ending.FateUnknown
	case !found && hidden(s.Intent, a.podName()):
		return ending.FateUnknown
	case !found:
		return ending.Removed
	case a.digest == "":
		return ending.FateUnknown
	case a.digest != manifest.Digest:
		return ending.Replaced
	}
	return ending.Stays
}

// tooSoon tells that an attempt ended sooner after its manifest had changed than
// the kubelet lets a container live on after TERM.
func tooSoon(s *node.Snapshot, a *attempt, finished time.Time) bool {
	if s == nil || s.Intent.Err != nil || finished.IsZero() || a.seen.Grace < 0 {
		return false
	}
	manifest, found := s.Intent.Find(a.podName())
	lived := finished.Sub(manifest.Modified)
	return found && lived >= 0 && lived < a.seen.Grace-coarse
}

// newerGeneration tells whether the pod's name has another UID by now: in the
// kubelet's view, or in a sandbox that was made after this attempt's.
func newerGeneration(s *node.Snapshot, a *attempt) bool {
	if v, ok := s.Kubelet.View.Find(a.podName()); ok && s.Kubelet.View.Known() && v.UID != "" && v.UID != a.birth.PodUID {
		return true
	}
	if s.Runtime.Err != nil {
		return false
	}
	born := a.birth.Seen
	for _, sb := range s.Runtime.Of(a.podName()) {
		if sb.ID == a.birth.SandboxID {
			born = sb.CreatedAt
		}
	}
	for _, sb := range s.Runtime.Of(a.podName()) {
		if sb.UID != a.birth.PodUID && sb.CreatedAt.After(born) {
			return true
		}
	}
	return false
}

// hidden tells whether the manifest of a pod may be in the directory all the
// same: in a file that cannot be read, of which nobody knows whose it is, or in one
// that another pod's UID keeps from counting.
func hidden(i node.Intent, name node.PodName) bool {
	for _, p := range i.Problems {
		if p.Pod == name || p.Pod == (node.PodName{}) && p.Kind != node.ProblemDuplicate {
			return true
		}
	}
	return false
}
