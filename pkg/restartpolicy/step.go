package restartpolicy

import (
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
)

// StepKind is a rung of the ladder.
type StepKind string

// The rungs, least destructive first. The names are those of the
// configuration's restart.steps.
const (
	StopContainer   StepKind = "stop-container"   // CRI StopContainer on a record whose process is gone
	RemoveContainer StepKind = "remove-container" // CRI RemoveContainer on a stale record
	StopOldSandbox  StepKind = "stop-old-sandbox" // CRI StopPodSandbox on an old generation
	ReplaceManifest StepKind = "replace-manifest" // the same manifest out and in again
	RestartKubelet  StepKind = "restart-kubelet"
	StopSandbox     StepKind = "stop-sandbox" // CRI StopPodSandbox on the current generation
	RestartRuntime  StepKind = "restart-runtime"
	RemoveSandbox   StepKind = "remove-sandbox"
)

// Steps are all rungs, least destructive first.
var Steps = [...]StepKind{StopContainer, RemoveContainer, StopOldSandbox, ReplaceManifest,
	RestartKubelet, StopSandbox, RestartRuntime, RemoveSandbox}

// Step is one act that is due: what, to what, why.
type Step struct {
	Kind   StepKind `json:"step"`
	Key    Key      `json:"key"`
	State  State    `json:"verdict"`
	Reason string   `json:"reason"`
	Target Target   `json:"target"`
	// Timeout bounds the call. For a sandbox stop it is also the grace that
	// the runtime gives to the containers.
	Timeout time.Duration `json:"timeout"`
}

// NodeWide tells that a step serves every pod of the node at once.
func (k StepKind) NodeWide() bool { return k == RestartKubelet || k == RestartRuntime }

// StepOf is the configuration of a rung.
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
	case RemoveSandbox:
		return steps.RemoveSandbox
	}
	return config.Step{}
}
