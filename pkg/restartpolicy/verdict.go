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

// State is what a verdict says.
type State string

// States that never lead to an act.
const (
	Healthy      State = "healthy"
	Starting     State = "starting"      // first start in progress, as far as can be seen
	InBackOff    State = "in-backoff"    // down, and the kubelet may still restart it in time
	IntendedDown State = "intended-down" // its restart policy wants it down, or it is done
	Excluded     State = "excluded"      // opted out by annotation
	NoManifest   State = "no-manifest"   // running without a manifest: never touched
	ManifestBad  State = "manifest-bad"
	Frozen       State = "frozen"  // somebody paused its cgroup
	Unknown      State = "unknown" // a source did not answer, or the facts contradict
)

// States that lead to an act once they are due.
const (
	Forgotten      State = "forgotten"       // down, past every deadline of a working kubelet
	StaleRunning   State = "stale-running"   // CRI says running, the process is gone
	WaitingForOld  State = "waiting-for-old" // the new revision waits for an old one that does not end
	TwoGenerations State = "two-generations" // an old revision runs beside the new one
	Rejected       State = "rejected"        // refused at admission; the kubelet does not retry
	NeverStarted   State = "never-started"   // a manifest that the kubelet has not begun to run
	Husk           State = "husk"            // created, never started
	Inverted       State = "inverted"        // a dead record with a later date hides the real one
	StartFailing   State = "start-failing"   // the kubelet tries, and fails
	StartHung      State = "start-hung"      // an OCI runtime call hangs
	KubeletDown    State = "kubelet-down"
	RuntimeDown    State = "runtime-down"
)

// States are all of them.
var States = [...]State{Healthy, Starting, InBackOff, IntendedDown, Excluded, NoManifest, ManifestBad, Frozen, Unknown,
	Forgotten, StaleRunning, WaitingForOld, TwoGenerations, Rejected, NeverStarted, Husk, Inverted, StartFailing, StartHung,
	KubeletDown, RuntimeDown}

// Verdict is the judgement of one container, pod or service.
type Verdict struct {
	Key
	State State `json:"verdict"`
	// Detail is one line for people: the facts that led to the state.
	Detail string `json:"detail,omitempty"`
	// Since is when the state was first seen, on the boot clock.
	Since time.Duration `json:"since"`
	// Due is when a step may be taken; 0 for states that never lead to one.
	Due time.Duration `json:"due,omitempty"`
	// Looks counts the looks in a row that saw the same.
	Looks int `json:"looks"`
	// Guards name what forbids a step just now, whether it is due or not.
	Guards []string `json:"guards,omitempty"`
	// Ladder are the steps that may cure it, least destructive first; empty
	// for states that are only reported.
	Ladder []StepKind `json:"ladder,omitempty"`
	// Target is what the steps would be done to.
	Target Target `json:"target"`
}

// Target pins the facts that a step relies on. A step is refused when any of
// them has changed by the time it is carried out.
type Target struct {
	UID         string        `json:"uid,omitempty"`
	SandboxID   string        `json:"sandboxID,omitempty"`
	ContainerID string        `json:"containerID,omitempty"`
	Attempt     uint32        `json:"attempt"`
	Manifest    string        `json:"manifest,omitempty"`
	Digest      string        `json:"digest,omitempty"`
	Grace       time.Duration `json:"grace,omitempty"`
}
