package report

import (
	"strings"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/timeline"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// Look is how a pod was, as far as a reader cares; the higher, the worse.
type Look int

// Looks.
const (
	// Unseen: nobody looked, or it was not there.
	Unseen Look = iota
	// Off: it is meant not to run.
	Off
	Running
	Unknown
	Starting
	BackOff
	// HeldUp: a new revision cannot take over.
	HeldUp
	Down
	looks
)

var lookNames = [looks]string{"not watched", "off", "running", "unknown", "starting", "back-off", "rollout held up", "down"}

// String is the word for it.
func (l Look) String() string { return lookNames[l] }

// Class is its name in the style sheet.
func (l Look) Class() string { return strings.ReplaceAll(lookNames[l], " ", "-") }

// lookOf is the worst of the states in a line of the timeline. A state that is
// not known is one of a newer agent.
func lookOf(states string) Look {
	worst := Unseen
	for state := range strings.SplitSeq(states, "+") {
		worst = max(worst, lookOfState(restartpolicy.State(state)))
	}
	return worst
}

func lookOfState(state restartpolicy.State) Look {
	switch state {
	case timeline.Gone:
		return Unseen
	case restartpolicy.IntendedDown, restartpolicy.Excluded, restartpolicy.NoManifest:
		return Off
	case restartpolicy.Healthy:
		return Running
	case restartpolicy.Starting:
		return Starting
	case restartpolicy.InBackOff:
		return BackOff
	case restartpolicy.WaitingForOld, restartpolicy.StopHung, restartpolicy.ManifestNotRead, restartpolicy.TwoGenerations,
		restartpolicy.DuplicateRunning, restartpolicy.Leftover:
		return HeldUp
	case restartpolicy.ManifestBad, restartpolicy.Frozen, restartpolicy.Forgotten, restartpolicy.StaleRunning, restartpolicy.Rejected,
		restartpolicy.NeverStarted, restartpolicy.CreatedNotStarted, restartpolicy.OutOfOrder, restartpolicy.UnreadableRecord,
		restartpolicy.SandboxLost, restartpolicy.StartFailing, restartpolicy.StartHung,
		restartpolicy.KubeletDown, restartpolicy.RuntimeDown:
		return Down
	}
	return Unknown
}
