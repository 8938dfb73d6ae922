package restartpolicy

// Row is what one verdict means and what is done about it. docs/verdicts.md is
// made from these rows: the table that decides is the one that is read.
type Row struct {
	State State
	// Means says what the node shows.
	Means string
	// Waits says from when and for how long it lasts before a step.
	Waits string
	// Proof is what has to be known, beside the deadline and the inhibitors.
	Proof []claimKind
	// Steps are taken one after the other, each after the one before has had its
	// time to show a result. The same step twice is tried twice.
	Steps []StepKind
	// Never says what is not done about it, and why.
	Never string
}

// Rows is the table of verdicts.
var Rows = []Row{
	{State: Healthy, Means: "It runs, as it should."},
	{State: Starting, Means: "It has not been created yet, and the kubelet is at it.",
		Waits: "20 min after it was first seen, if nothing explains it: then it is forgotten",
		Never: "An image that is being pulled, a volume that is waited for and a network that is away are waited for, for ever."},
	{State: InBackOff, Means: "It is down, and the kubelet may still start it in time.",
		Waits: "until the verdict is forgotten"},
	{State: IntendedDown, Means: "It is down as its restart policy wants, it is done, or somebody stopped the service.",
		Never: "Nothing is done while the kubelet or the runtime is stopped on purpose, for any pod."},
	{State: Excluded, Means: "It is opted out by the annotation `" + OptOut + ": \"off\"`. The quotes are needed: without them it is no text, and the kubelet refuses the manifest."},
	{State: NoManifest, Means: "A static pod runs and no manifest is there for it.",
		Never: "What has no manifest is never touched: somebody took it away."},
	{State: ManifestBad, Means: "The kubelet cannot read the manifest, skips it or refuses it; or it cannot be seen from here.",
		Never: "No restart makes a kubelet accept it."},
	{State: Frozen, Means: "Its control group is frozen: somebody paused it."},
	{State: Unknown, Means: "A source did not answer, or the facts contradict one another.",
		Never: "Unknown is never a reason to act."},

	{State: Forgotten, Means: "It is down, past every time that a working kubelet needs.",
		Waits: "120 s, or the back-off + 60 s, and the grace of siblings that run; without a view of the kubelet's pods 180 s, or the longest back-off + 90 s where its journal is not known or has named the pod; at least 150 s with a volume of the API server or a driver",
		Proof: []claimKind{kubeletRuns, sandboxReady, imagePresent, nothingInHand, notDealtWith},
		Steps: []StepKind{RestartKubelet},
		Never: "The runtime is not restarted, and no record removed, because the kubelet's restart was in vain."},
	{State: UnreadableRecord, Means: "The runtime refuses the kubelet the status of a dead record, so that it syncs the pod no more.",
		Waits: "120 s", Proof: []claimKind{recordDead}, Steps: []StepKind{RemoveContainer}},
	{State: StaleRunning, Means: "The runtime says running, and the process is gone.",
		Waits: "30 s", Proof: []claimKind{processGone}, Steps: []StepKind{StopContainer},
		Never: "A process that lives is not stopped."},
	{State: SandboxLost, Means: "The runtime calls a sandbox ready whose own process is gone: no container can start in it.",
		Waits: "30 s", Proof: []claimKind{processGone}, Steps: []StepKind{StopSandbox}},
	{State: DuplicateRunning, Means: "Two attempts of one container run.",
		Waits: "120 s", Proof: []claimKind{bothRun}, Steps: []StepKind{StopContainer},
		Never: "The newer one is not touched."},
	{State: WaitingForOld, Means: "A new revision waits for an old one that does not end.",
		Waits: "the old one's grace + 60 s after a container of it went down, + 180 s while none is; anew when kubelet or runtime have started",
		Proof: []claimKind{kubeletRuns, newRevision, oldIsDown, oldImagePresent, nothingInHand},
		Steps: []StepKind{RestartKubelet}},
	{State: StopHung, Means: "A new revision waits for an old one, or runs beside it, whose stop hangs in the runtime.",
		Waits: "as waiting-for-old", Proof: []claimKind{callHangs}, Steps: []StepKind{RestartRuntime},
		Never: "The kubelet is not restarted meanwhile: it would be blocked by the same call."},
	{State: TwoGenerations, Means: "An old revision runs beside the new one.",
		Waits: "the old one's grace + 120 s; at once after a restart of the kubelet that was done for its sake",
		Proof: []claimKind{generationKnown}, Steps: []StepKind{StopOldSandbox}},
	{State: ManifestNotRead, Means: "The kubelet goes on with a revision that the manifest no longer describes.",
		Waits: "the pod's grace + 180 s", Proof: []claimKind{kubeletRuns, newRevision}, Steps: []StepKind{RestartKubelet}},
	{State: Rejected, Means: "The kubelet rejected the pod at admission, and does not try again.",
		Waits: "60 s, then 1, 5, 15 min between the tries, four in all; by restart-kubelet no more than its budget allows",
		Proof: []claimKind{mayPass}, Steps: []StepKind{ReplaceManifest, RestartKubelet},
		Never: "A reason that lies in the pod itself (node selector, host port, OS) is not retried."},
	{State: NeverStarted, Means: "The kubelet has not begun to run a manifest that it accepts.",
		Waits: "the pod's grace + 180 s",
		Proof: []claimKind{kubeletRuns, accepted, networkReady, imagePresent, nothingInHand, notDealtWith}, Steps: []StepKind{RestartKubelet}},
	{State: CreatedNotStarted, Means: "A record was created and never started: kubelet or runtime died in between.",
		Waits: "120 s", Proof: []claimKind{recordDead}, Steps: []StepKind{RemoveContainer},
		Never: "It holds back no cure of another container."},
	{State: Leftover, Means: "An older attempt was created and never started, beside newer ones.",
		Waits: "120 s", Proof: []claimKind{recordDead}, Steps: []StepKind{RemoveContainer}},
	{State: OutOfOrder, Means: "A dead record is dated later than a newer one, and hides it from the kubelet: the clock ran backwards.",
		Waits: "120 s", Proof: []claimKind{recordDead}, Steps: []StepKind{RemoveContainer}},
	{State: StartFailing, Means: "The kubelet tries to start it, and fails, for a reason that it names.",
		Waits: "600 s", Proof: []claimKind{runtimeTimesOut}, Steps: []StepKind{RestartRuntime},
		Never: "An image that cannot be pulled, a bad command or volume: no restart mends them."},
	{State: StartHung, Means: "A creation or a start hangs in the runtime.",
		Waits: "300 s after the call began; 600 s where one hangs after the other", Proof: []claimKind{callHangs}, Steps: []StepKind{RestartRuntime},
		Never: "The kubelet is not restarted meanwhile: it would sync no pod of the node."},
	{State: KubeletDown, Means: "The kubelet is gone, stopped by a signal, hung, or started without its pods.",
		Waits: "60 s with the same process", Proof: []claimKind{kubeletAtFault},
		Steps: []StepKind{RestartKubelet, RestartKubelet, RestartKubelet},
		Never: "A unit that somebody stopped is intended-down, without a limit of time. A kubelet that lists its pods is not down, whatever its health check says. One that systemd starts again and again is left to systemd."},
	{State: RuntimeDown, Means: "The runtime does not answer.",
		Waits: "60 s; two minutes of silence where its process runs", Proof: []claimKind{runtimeAtFault},
		Steps: []StepKind{RestartRuntime},
		Never: "A socket that is closed to us alone, a list that is slow or too large, and a unit that starts or stops are not the runtime's fault."},
}

// States are all states, in the order of the table.
func States() []State {
	out := make([]State, len(Rows))
	for i := range Rows {
		out[i] = Rows[i].State
	}
	return out
}

// rowOf is the row of a state.
func rowOf(state State) *Row {
	for i := range Rows {
		if Rows[i].State == state {
			return &Rows[i]
		}
	}
	return &Row{State: state}
}
