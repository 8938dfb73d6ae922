package restartpolicy

// ladderFor is the table of cures: which steps heal which state, least
// destructive first. A step that is named twice is tried twice, with the gap
// of its configuration in between.
func ladderFor(state State) []StepKind {
	switch state {
	case Forgotten:
		return []StepKind{RestartKubelet, RemoveContainer, StopSandbox, RestartRuntime, RemoveSandbox}
	case StaleRunning:
		return []StepKind{StopContainer, RestartRuntime}
	case WaitingForOld:
		return []StepKind{RestartKubelet}
	case TwoGenerations:
		return []StepKind{StopOldSandbox}
	case Rejected:
		return []StepKind{ReplaceManifest, RestartKubelet}
	case NeverStarted:
		return []StepKind{RestartKubelet, RestartRuntime}
	case Husk:
		return []StepKind{RemoveContainer, RestartKubelet, RestartRuntime}
	case Inverted:
		return []StepKind{RemoveContainer, RestartKubelet}
	case StartFailing, StartHung, RuntimeDown:
		return []StepKind{RestartRuntime}
	case KubeletDown:
		return []StepKind{RestartKubelet, RestartKubelet, RestartKubelet}
	}
	return nil
}

// ladderForHungStop is for a revision that waits because a stop of the old one
// hangs in the runtime: a kubelet restarted meanwhile would be blocked by it.
func ladderForHungStop() []StepKind { return []StepKind{RestartRuntime} }

// ladderForBlockedStart is for a kubelet that runs and knows no pod: most often
// it waits for the runtime.
func ladderForBlockedStart() []StepKind { return []StepKind{RestartKubelet, RestartRuntime} }
