package status

import (
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// Identity of the format.
const (
	APIVersion = "nodekeeper.io/v1alpha1"
	Kind       = "Status"
)

// Status is the whole file.
type Status struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Agent is the process that wrote the file.
	Agent Agent `json:"agent"`
	// Node is what was seen of the node as a whole.
	Node Node `json:"node"`
	// Verdicts has one entry for each service, pod and container that is
	// guarded, in the order of restartpolicy.Judge.
	Verdicts []Verdict `json:"verdicts"`
	// Records is the state of the crash records; nil if none are kept.
	Records *Records `json:"records,omitempty"`
}

// Records is the state of the crash records.
type Records struct {
	// Records are kept, Live attempts are followed.
	Records int `json:"records"`
	Live    int `json:"live"`
	// Bytes is what the records take, LimitBytes what they may take.
	Bytes      int64 `json:"bytes"`
	LimitBytes int64 `json:"limitBytes"`
	// Evicted and Lost count, since the agent began, records that made room for
	// others and attempts of which no record could be made.
	Evicted int `json:"evicted"`
	Lost    int `json:"lost"`
	// Crashes counts, since the agent began, the records of attempts that ended
	// in trouble, by class, and Gaps what is known to be missing in records.
	Crashes map[string]int `json:"crashes,omitempty"`
	Gaps    int            `json:"gaps,omitempty"`
	// Evictions is Evicted by reason.
	Evictions map[string]int `json:"evictions,omitempty"`
	// Events counts events since the agent began, by source, and DroppedEvents
	// those that came faster than they could be taken.
	Events        map[string]int64 `json:"events,omitempty"`
	DroppedEvents int64            `json:"droppedEvents,omitempty"`
	// Spool is how many events wait in the hook's spool, SpoolDropped how many
	// have found it full since the node was booted.
	Spool        int   `json:"spool,omitempty"`
	SpoolDropped int64 `json:"spoolDropped,omitempty"`
	// Sources says of each source of events (hook, nri, watch, exits) whether it
	// works: "ok", or why not.
	Sources map[string]string `json:"sources,omitempty"`
	// Error says what keeps records from being made.
	Error string `json:"error,omitempty"`
}

// Agent says who looks, how often, and when the last time was.
type Agent struct {
	Version string `json:"version"`
	PID     int    `json:"pid"`
	// DryRun: acts are announced and not taken.
	DryRun bool `json:"dryRun"`
	// Looks counts since the process began.
	Looks uint64 `json:"looks"`
	// IntervalSeconds is the time between two looks.
	IntervalSeconds float64 `json:"intervalSeconds"`
	// Taken is when the look began that this status is of, in the boot BootID.
	Taken  node.Instant `json:"taken"`
	BootID string       `json:"bootID"`
	// Acting is the act in hand, during which there are no looks; nil for none.
	Acting *Acting `json:"acting,omitempty"`
	// Budgets are how many steps of each kind may still be taken on the whole
	// node, of those that are enabled and bounded for an hour.
	Budgets map[restartpolicy.StepKind]int `json:"budgets,omitempty"`
	// Withheld says why no act at all may be taken just now, besides the guards
	// of each verdict: the journal cannot be written, or was lost. Empty for
	// nothing.
	Withheld string `json:"withheld,omitempty"`
}

// Acting is an act in hand.
type Acting struct {
	ID        string                 `json:"id"`
	Step      restartpolicy.StepKind `json:"step"`
	Namespace string                 `json:"namespace,omitempty"`
	Pod       string                 `json:"pod,omitempty"`
	Container string                 `json:"container,omitempty"`
	// AtMostSeconds is when the act is over, counted from Taken.
	AtMostSeconds int64 `json:"atMostSeconds"`
}

// Node is what the agent can see of the node, and what it cannot.
type Node struct {
	// Name is the kubelet's node name.
	Name string `json:"name,omitempty"`
	// Identity says who the kubelet is, and how that is known.
	Identity Identity `json:"identity"`
	// NotKnown says what the look could not find out, InProgress what work is
	// seen that the kubelet waits for; one line each, for people.
	NotKnown   []string  `json:"notKnown,omitempty"`
	InProgress []string  `json:"inProgress,omitempty"`
	Runtime    Runtime   `json:"runtime"`
	Kubelet    Kubelet   `json:"kubelet"`
	Manifests  Manifests `json:"manifests"`
	// SettingsError says what could not be read of the kubelet's configuration;
	// the kubelet's defaults are taken for it.
	SettingsError string `json:"settingsError,omitempty"`
	// Paused says until when and why an admin has suspended all acts.
	Paused       string   `json:"paused,omitempty"`
	ShuttingDown bool     `json:"shuttingDown,omitempty"`
	Busy         []string `json:"busy,omitempty"`
}

// Identity is the kubelet of this node.
type Identity struct {
	// NodeName is empty while it cannot be proved; NodeNameFrom says what proves
	// it: "--hostname-override", "client certificate", "host name",
	// "kubelet.nodeName".
	NodeName     string `json:"nodeName,omitempty"`
	NodeNameFrom string `json:"nodeNameFrom,omitempty"`
	// Version is the running program's own answer; empty if it gave none.
	Version string `json:"version,omitempty"`
	PID     int    `json:"pid,omitempty"`
	Unit    string `json:"unit,omitempty"`
	Program string `json:"program,omitempty"`
	// Error says what cannot be told for certain.
	Error string `json:"error,omitempty"`
}

// Runtime is the container runtime.
type Runtime struct {
	// Name and Version are CRI's, empty while it has not answered.
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
	// Error says why CRI did not answer this time.
	Error string `json:"error,omitempty"`
	Unit  Unit   `json:"unit"`
}

// Kubelet is the kubelet.
type Kubelet struct {
	// View is where its view of its pods came from: "pods-api", "pods", "none".
	View node.ViewSource `json:"view"`
	// SourcesNotReady: the kubelet has not heard of all its pod sources yet,
	// which on a node that runs its own API server is a sign of trouble.
	SourcesNotReady bool `json:"sourcesNotReady,omitempty"`
	// Error says why there is no view, or not from the best source.
	Error string `json:"error,omitempty"`
	// Healthy is the answer of healthz; HealthError says why it is not.
	Healthy     bool   `json:"healthy"`
	HealthError string `json:"healthError,omitempty"`
	Unit        Unit   `json:"unit"`
}

// Unit is a systemd service. State is systemd's "active/running".
type Unit struct {
	Name  string `json:"name,omitempty"`
	State string `json:"state,omitempty"`
	Error string `json:"error,omitempty"`
}

// Manifests is the static pod directory.
type Manifests struct {
	Dir   string `json:"dir,omitempty"`
	Pods  int    `json:"pods"`
	Error string `json:"error,omitempty"`
	// Problems are files that the kubelet skips or that hide one another.
	Problems []Problem `json:"problems,omitempty"`
}

// Problem is one manifest file that an admin should mend.
type Problem struct {
	Path    string `json:"path"`
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// Verdict is the judgement of a container, a whole pod (Container is empty),
// or a service (Pod is empty, Container names the unit).
type Verdict struct {
	Namespace string `json:"namespace,omitempty"`
	Pod       string `json:"pod,omitempty"`
	// PodUID is the one that the kubelet has for the pod, where it is known.
	PodUID    string              `json:"podUID,omitempty"`
	Container string              `json:"container,omitempty"`
	State     restartpolicy.State `json:"verdict"`
	// Detail is one line for people; it is no API.
	Detail string `json:"detail,omitempty"`
	// ForSeconds is how long the agent has seen this.
	ForSeconds int64 `json:"forSeconds"`
	// Next is the time until a step may be taken, 0 once it is due; missing
	// where no step would be taken. Proof and inhibitors come on top.
	Next *int64 `json:"nextInSeconds,omitempty"`
	// Overdue: down, or wrong, beyond its deadline. This is what to alert on.
	Overdue bool `json:"overdue,omitempty"`
	// BlockedBy names what inhibits the next step just now; Inhibitors says it for
	// people, and is no API.
	BlockedBy  []string `json:"blockedBy,omitempty"`
	Inhibitors []string `json:"inhibitors,omitempty"`
	// Missing is the proof that is missing before the next step, for people.
	Missing []string `json:"missing,omitempty"`
	// Steps are the steps that may cure it, least destructive first.
	Steps []restartpolicy.StepKind `json:"steps,omitempty"`
	// Last is the last act about it; nil for none that is remembered.
	Last *Act `json:"last,omitempty"`
}

// Act is the last act about something.
type Act struct {
	ID     string                 `json:"id"`
	Step   restartpolicy.StepKind `json:"step"`
	Result restartpolicy.Result   `json:"result"`
	// Detail is one line for people; it is no API.
	Detail string `json:"detail,omitempty"`
	// Began is on the wall clock; AgoSeconds is not fooled by its jumps.
	Began      time.Time `json:"began"`
	AgoSeconds int64     `json:"agoSeconds"`
	Evidence   string    `json:"evidence,omitempty"`
	// Record is the crash record that preceded it, below the record root.
	Record string `json:"record,omitempty"`
}

// Trouble tells states in which something is not as it should be, whether a
// step is due or not.
func (v Verdict) Trouble() bool {
	switch v.State {
	case restartpolicy.Healthy, restartpolicy.IntendedDown, restartpolicy.Excluded, restartpolicy.Starting,
		restartpolicy.NoManifest:
		return false
	}
	return true
}
