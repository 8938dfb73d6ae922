package restartpolicy

import (
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// Key names what a verdict is about: a container, a whole pod (Container is
// empty), or a service of the node (Pod is empty, Container names the unit).
type Key struct {
	node.PodName
	Container string `json:"container,omitempty"`
}

// String is namespace/pod/container, namespace/pod, or the unit's name.
func (k Key) String() string {
	switch {
	case k.Name == "":
		return k.Container
	case k.Container == "":
		return k.PodName.String()
	}
	return k.PodName.String() + "/" + k.Container
}

// State is what a verdict says. What each one means, and what may be done about
// it, stands in table.go.
type State string

// States that never lead to an act.
const (
	Healthy      State = "healthy"
	Starting     State = "starting"
	InBackOff    State = "in-backoff"
	IntendedDown State = "intended-down"
	Excluded     State = "excluded"
	NoManifest   State = "no-manifest"
	ManifestBad  State = "manifest-bad"
	Frozen       State = "frozen"
	Unknown      State = "unknown"
)

// States that lead to an act once they are due and proved.
const (
	Forgotten         State = "forgotten"
	UnreadableRecord  State = "unreadable-record"
	StaleRunning      State = "stale-running"
	SandboxLost       State = "sandbox-lost"
	DuplicateRunning  State = "duplicate-running"
	WaitingForOld     State = "waiting-for-old"
	TwoGenerations    State = "two-generations"
	ManifestNotRead   State = "manifest-not-read"
	Rejected          State = "rejected"
	NeverStarted      State = "never-started"
	CreatedNotStarted State = "created-not-started"
	Leftover          State = "leftover"
	OutOfOrder        State = "out-of-order"
	StartFailing      State = "start-failing"
	StartHung         State = "start-hung"
	StopHung          State = "stop-hung"
	KubeletDown       State = "kubelet-down"
	RuntimeDown       State = "runtime-down"
)

// Verdict is the judgement of one container, pod or service.
type Verdict struct {
	Key
	State State `json:"verdict"`
	// Detail is one line for people: the facts that led to the state.
	Detail string `json:"detail,omitempty"`
	// Since is when the state was first seen, on the boot clock, less the time
	// in which nobody looked.
	Since time.Duration `json:"since"`
	// Due is when a step may be taken; 0 for states that never lead to one.
	Due time.Duration `json:"due,omitempty"`
	// Looks counts the looks in a row that saw the same.
	Looks int `json:"looks"`
	// Steps may cure it, in the order in which they are taken; empty for what is
	// only reported.
	Steps []StepKind `json:"steps,omitempty"`
	// Proof is what has to be known before the first of them, and what is.
	Proof []Claim `json:"proof,omitempty"`
	// Inhibitors forbid the step that comes next, whether it is due or not.
	Inhibitors []Inhibitor `json:"inhibitors,omitempty"`
	// Target is what the steps would be done to.
	Target Target `json:"target"`

	// first is Since without regard to the time in which nobody looked.
	first time.Duration
	// history is what the judge remembered with the look, for Plan.
	history *History
}

// Missing are the claims of the proof that do not hold, or are not known to.
func (v Verdict) Missing() []Claim {
	var out []Claim
	for _, c := range v.Proof {
		if c.Answer != node.Yes {
			out = append(out, c)
		}
	}
	return out
}

// Target pins the facts that a step relies on. A step is refused when any of
// them has changed by the time it is carried out.
type Target struct {
	UID         string `json:"uid,omitempty"`
	SandboxID   string `json:"sandboxID,omitempty"`
	ContainerID string `json:"containerID,omitempty"`
	Attempt     uint32 `json:"attempt"`
	// Process is the start time of the service's process, for a service.
	Process  time.Duration `json:"process,omitempty"`
	Manifest string        `json:"manifest,omitempty"`
	Digest   string        `json:"digest,omitempty"`
	Grace    time.Duration `json:"grace,omitempty"`
}
