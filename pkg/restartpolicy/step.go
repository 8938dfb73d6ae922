package restartpolicy

import (
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
)

// StepKind is one kind of act.
type StepKind string

// The steps, least destructive first. The names are those of the
// configuration's restart.steps.
const (
	StopContainer   StepKind = "stop-container"   // CRI StopContainer on a record whose process is gone, or on the older of two
	RemoveContainer StepKind = "remove-container" // CRI RemoveContainer on a dead or never started record
	StopOldSandbox  StepKind = "stop-old-sandbox" // CRI StopPodSandbox on an old generation
	ReplaceManifest StepKind = "replace-manifest" // the same manifest out and in again
	RestartKubelet  StepKind = "restart-kubelet"
	StopSandbox     StepKind = "stop-sandbox" // CRI StopPodSandbox on the current generation
	RestartRuntime  StepKind = "restart-runtime"
)

// Steps are all of them.
var Steps = [...]StepKind{StopContainer, RemoveContainer, StopOldSandbox, ReplaceManifest,
	RestartKubelet, StopSandbox, RestartRuntime}

// Step is one act that is due: what, to what, why.
type Step struct {
	Kind   StepKind `json:"step"`
	Key    Key      `json:"key"`
	State  State    `json:"verdict"`
	Reason string   `json:"reason"`
	Target Target   `json:"target"`
	// Proof is what the step rests on, one line each.
	Proof []string `json:"proof,omitempty"`
	// Cost names pods that the step may end, and why; empty for none.
	Cost []string `json:"cost,omitempty"`
	// Timeout bounds the call. For a sandbox stop it is also the grace that
	// the runtime gives to the containers.
	Timeout time.Duration `json:"timeout"`
}

// NodeWide tells that a step serves every pod of the node at once.
func (k StepKind) NodeWide() bool { return k == RestartKubelet || k == RestartRuntime }

// StepOf is the configuration of a step.
func StepOf(steps config.Steps, kind StepKind) config.Step {
	switch kind {
	case StopContainer:
		return steps.StopContainer
	case RemoveContainer:
		return steps.RemoveContainer
	case StopOldSandbox:
		return steps.StopOldSandbox
	case ReplaceManifest:
		return steps.ReplaceManifest
	case RestartKubelet:
		return steps.RestartKubelet
	case StopSandbox:
		return steps.StopSandbox
	case RestartRuntime:
		return steps.RestartRuntime
	}
	return config.Step{}
}
