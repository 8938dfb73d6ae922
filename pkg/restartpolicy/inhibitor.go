package restartpolicy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// Inhibitor is a reason not to take a step just now. There is no other kind of
// veto: all of them are asked when a step is planned, and again with a fresh look
// before it is taken.
type Inhibitor struct {
	// Name is for the status and for metrics, Detail one line for people.
	Name   string `json:"name"`
	Detail string `json:"detail,omitempty"`
}

// String is one line.
func (i Inhibitor) String() string { return strings.TrimSuffix(i.Name+": "+i.Detail, ": ") }

// asked is what inhibitors are asked about: one step for one verdict.
type asked struct {
	policy  config.Restart
	snap    *node.Snapshot
	history *History
	ledger  Ledger
	verdict *Verdict
	kind    StepKind
	node    *nodeWide
}

// nodeWide is what is the same for every verdict of a look, worked out once.
type nodeWide struct {
	losses      []loss
	nameTrouble string
	ending      []node.PodName
}

func newNodeWide(s *node.Snapshot, h *History) *nodeWide {
	return &nodeWide{lossesOf(s), nameTrouble(s), endingOf(s, h)}
}

type inhibitor struct {
	name, text string
	// why is why the step must not be taken, or "".
	why func(a *asked) string
}

// inhibitorTable is all of them, those of the node before those of the pod. An
// inhibitor may be left out of a test only by taking it out here.
var inhibitorTable = []inhibitor{
	{"paused", "an admin has paused the agent", func(a *asked) string { return a.snap.Host.Paused }},
	{"shutting-down", "the node shuts down", func(a *asked) string {
		return when(a.snap.Host.ShuttingDown, "the system is shutting down")
	}},
	{"host-busy", "something else changes the node (restart.busy)", func(a *asked) string {
		return strings.Join(a.snap.Host.Busy, ", ")
	}},
	{"host-unknown", "whether the node shuts down, is changed or is paused cannot be told", func(a *asked) string {
		return text(a.snap.Host.Err)
	}},
	{"units-unknown", "systemd does not tell of the kubelet or the runtime", func(a *asked) string {
		return text(cmp.Or(a.snap.Kubelet.Unit.Err, a.snap.Runtime.Unit.Err))
	}},
	{"kubelet-stopped", "somebody has stopped the kubelet", func(a *asked) string {
		return whenUnit(a.hasUnit(a.snap.Kubelet.Unit) && StoppedOnPurpose(a.snap.Kubelet.Unit), a.snap.Kubelet.Unit)
	}},
	{"runtime-stopped", "somebody has stopped the runtime", func(a *asked) string {
		return whenUnit(a.hasUnit(a.snap.Runtime.Unit) && StoppedOnPurpose(a.snap.Runtime.Unit), a.snap.Runtime.Unit)
	}},
	{"unit-job", "systemd has a job for the kubelet or the runtime", func(a *asked) string {
		for _, u := range []node.Unit{a.snap.Kubelet.Unit, a.snap.Runtime.Unit} {
			if u.JobPending || u.ActiveState == "deactivating" {
				return u.Name + " is " + unitText(u)
			}
		}
		return ""
	}},
	{"node-name", "the node's name is not proved, or the pods that run have another", func(a *asked) string {
		// A kubelet that is gone has no name, and is started all the same.
		return when(a.pod() || a.snap.Kubelet.Process.PID > 0, a.node.nameTrouble)
	}},
	{"kubelet-elsewhere", "the kubelet runs in another unit than kubelet.unit", func(a *asked) string {
		k := a.snap.Kubelet
		return when(a.kind == RestartKubelet && k.Elsewhere, "it runs in "+k.Process.Unit+": set kubelet.unit to restart that")
	}},
	{"no-unit", "the runtime has no unit to be restarted by", func(a *asked) string {
		return when(a.kind == RestartRuntime && !a.hasUnit(a.snap.Runtime.Unit), "there is no unit "+a.snap.Runtime.Unit.Name)
	}},
	{"other-runtime", "the kubelet uses another runtime than runtime.socket, and none of its pods is there", func(a *asked) string {
		return otherRuntime(a.snap)
	}},
	{"journal", "the journal of acts is lost, or cannot be written: no budget could be kept", func(a *asked) string { return a.ledger.Withheld }},
	{"disabled", "the step is switched off in the configuration", func(a *asked) string {
		return when(!a.conf().Enabled, string(a.kind)+" is not enabled")
	}},
	{"looks", "it has been seen fewer than restart.looks times in a row", func(a *asked) string {
		return when(a.verdict.Looks < a.policy.Looks, fmt.Sprintf("seen %d times of %d", a.verdict.Looks, a.policy.Looks))
	}},
	{"boot-hold-off", "the node has just been booted (holdOffs.boot)", func(a *asked) string { return a.within(0, a.policy.HoldOffs.Boot) }},
	{"clock-step", "the wall clock has just jumped (holdOffs.clockStep)", func(a *asked) string {
		return when(a.history.Stepped > 0, a.within(a.history.Stepped, a.policy.HoldOffs.ClockStep))
	}},
	{"other-pod-ends", "another pod uses its grace: a kubelet that starts would wait for it, and sync no pod", func(a *asked) string {
		if a.kind != RestartKubelet || !a.pod() {
			return ""
		}
		return a.otherEnds()
	}},
	{"kubelet-first", "the kubelet itself is down, and comes first", func(a *asked) string {
		return whenUnit(a.pod() && a.needsKubelet() && a.snap.Kubelet.Unit.ActiveState != "" && !a.kubeletUp(), a.snap.Kubelet.Unit)
	}},
	{"kubelet-away", "no kubelet works that would start again what is stopped", func(a *asked) string {
		k := a.snap.Kubelet
		works := a.kubeletUp() && (k.View.Known() || k.View.Answered || k.View.SourcesNotReady || k.Healthy)
		return when((a.kind == StopSandbox || a.verdict.State == DuplicateRunning) && !works, "the kubelet does not answer")
	}},
	{"kubelet-hold-off", "the kubelet has just started, and may mend it itself (holdOffs.kubeletStart)", func(a *asked) string {
		return when(a.pod() && a.needsKubelet() && a.history.Kubelet.Started > 0, a.within(a.history.Kubelet.Since, a.policy.HoldOffs.KubeletStart))
	}},
	{"kubelet-starting", "the kubelet is in its own start-up (one minute)", func(a *asked) string {
		waits := a.kind == RestartKubelet && a.verdict.State != KubeletDown || a.kind == StopSandbox || a.verdict.State == DuplicateRunning
		return when(waits && a.history.Kubelet.Started > 0,
			a.within(a.history.Kubelet.Since, config.Duration{Duration: kubeletStartUp}))
	}},
	{"runtime-hold-off", "the runtime has just started (holdOffs.runtimeStart)", func(a *asked) string {
		return when(a.verdict.State != TwoGenerations && a.history.Runtime.Started > 0, a.within(a.history.Runtime.Since, a.policy.HoldOffs.RuntimeStart))
	}},
	{"manifest-hold-off", "the manifest has just changed (the pod's grace + holdOffs.manifestChange)", func(a *asked) string {
		seen, ok := a.history.Manifests[a.verdict.PodName.String()]
		hold := config.Duration{Duration: a.verdict.Target.Grace + a.policy.HoldOffs.ManifestChange.Duration}
		return when(a.pod() && ok, a.within(seen.Since, hold))
	}},
	{"runtime-silent", "the runtime does not answer", func(a *asked) string {
		return when(a.kind != RestartRuntime, text(a.snap.Runtime.Err))
	}},
	{"call-in-flight", "restart-kubelet: a runtime call is in flight, which would block a kubelet that starts", func(a *asked) string {
		for _, c := range calls(a.snap) {
			if a.kind == RestartKubelet && (begins(c) || ends(c)) && c.Age > a.policy.Deadlines.HungCall.Duration {
				return callText(c)
			}
		}
		return ""
	}},
	{"monitors-in-unit", "container monitors live in the runtime's unit: a restart would end every container", func(a *asked) string {
		mode := a.snap.Runtime.Unit.KillMode
		return when(a.kind == RestartRuntime && a.snap.Runtime.MonitorsInUnit && mode != "process" && mode != "none", "KillMode "+mode)
	}},
	{"cost", "the kubelet's restart may end other pods (restart.acceptCost)", func(a *asked) string {
		if a.kind != RestartKubelet || a.policy.AcceptCost {
			return ""
		}
		return strings.Join(a.cost(), "; ")
	}},
	{"settling", "an earlier step has not had its time to show a result", (*asked).settling},
	{"gap", "such a step was taken for the same pod not long ago", (*asked).gap},
	{"budget", "the node's budget of such steps is used up", (*asked).overBudget},
	{"breaker", "all steps have been tried, in vain", (*asked).exhausted},
}

// AgentStopping is for whoever carries out a step and is told to stop before.
var AgentStopping = Inhibitor{Name: "agent-stopping", Detail: "the agent is stopping"}

// passes are the names of what may refuse an act at the last moment and passes:
// inhibitors, and that something is not known just then.
var passes = map[string]bool{AgentStopping.Name: true, notKnown: true}

func init() {
	// The table itself asks what acts there were.
	for i := range inhibitorTable {
		passes[inhibitorTable[i].name] = true
	}
}

const notKnown, unproved = "not-known", "unproved"

// inhibited tells an act that was refused at the last moment by what passes.
func (a *Act) inhibited() bool {
	name, _, _ := strings.Cut(a.Detail, ":")
	return a.Result == ResultRefused && passes[name]
}

// inhibitors are all that forbid a step about a verdict just now.
func inhibitors(a *asked) []Inhibitor {
	var out []Inhibitor
	for i := range inhibitorTable {
		if why := inhibitorTable[i].why(a); why != "" {
			out = append(out, Inhibitor{Name: inhibitorTable[i].name, Detail: why})
		}
	}
	return out
}

// Confirm asks again, with a fresh look and the history and ledger of when it
// was planned, whether a step is to be taken: its verdict must stand as it was,
// with its proof, and nothing inhibit it. Empty means go.
func Confirm(policy config.Restart, s *node.Snapshot, h History, ledger Ledger, step Step) []Inhibitor {
	verdicts, next := Judge(policy, s, h)
	now := "nothing is known of it"
	for i := range verdicts {
		v := &verdicts[i]
		if v.Key != step.Key {
			continue
		}
		if v.State != step.State || !sameTarget(step.State, v.Target, step.Target) {
			now = "it is " + string(v.State)
			if v.State == step.State {
				now += ", of another generation, sandbox, attempt or process"
			} else if v.Detail != "" {
				now += ": " + firstLine(v.Detail)
			}
			continue
		}
		var out []Inhibitor
		for _, c := range v.Missing() {
			if c.Answer == node.No {
				out = slices.Insert(out, 0, Inhibitor{Name: unproved, Detail: c.String()})
			} else {
				out = append(out, Inhibitor{Name: notKnown, Detail: c.String()})
			}
		}
		return append(out, inhibitors(&asked{policy, s, &next, ledger, v, step.Kind, newNodeWide(s, &next)})...)
	}
	return []Inhibitor{{Name: "changed", Detail: "no longer " + string(step.State) + ": " + now}}
}

// sameTarget compares what the verdict pinned.
func sameTarget(state State, now, then Target) bool {
	if state == WaitingForOld || state == StopHung {
		return now.Manifest == then.Manifest && now.Digest == then.Digest
	}
	now.Grace = then.Grace
	return now == then
}

// nameTrouble says why the kubelet's node name, and with it every static pod's
// name, is not to be relied upon; "" if it is. What runs has the last word: a
// name that none of the static pods has is a wrong one.
func nameTrouble(s *node.Snapshot) string {
	if err := s.Settings.NodeNameErr; err != nil {
		return firstLine(err.Error())
	}
	suffix := "-" + strings.ToLower(cmp.Or(s.Intent.NodeName, s.Settings.NodeName))
	if suffix == "-" {
		return ""
	}
	names := map[string]bool{}
	for i := range s.Intent.Pods {
		names[s.Intent.Pods[i].Name.Name] = true
	}
	other := ""
	confirmed := func(name string) bool {
		if names[name] || len(names) == 0 && strings.HasSuffix(name, suffix) {
			return true
		}
		other = name
		return false
	}
	for i := range s.Runtime.Sandboxes {
		if sb := &s.Runtime.Sandboxes[i]; sb.Ready && sb.Static() && confirmed(sb.Pod.Name) {
			return ""
		}
	}
	for i := range s.Kubelet.View.Pods {
		if v := &s.Kubelet.View.Pods[i]; v.Static && s.Kubelet.View.Known() && confirmed(v.Name.Name) {
			return ""
		}
	}
	return when(other != "", "the static pod "+other+" runs, and none that a manifest stands for on a node "+suffix[1:])
}

// otherRuntime says that the kubelet uses another runtime than the one that is
// looked at. Another path alone does not prove it: a proxy, or a link, may lead to
// the same one, in which the kubelet's pods are then seen.
func otherRuntime(s *node.Snapshot) string {
	endpoint := strings.TrimPrefix(s.Settings.RuntimeEndpoint, "unix://")
	short := func(path string) string { return strings.TrimPrefix(path, "/var") }
	if endpoint == "" || s.Runtime.Socket == "" || short(endpoint) == short(s.Runtime.Socket) {
		return ""
	}
	for i := range s.Runtime.Sandboxes {
		if s.Runtime.Sandboxes[i].Source != "" {
			return ""
		}
	}
	return "the kubelet uses " + endpoint + ": set runtime.socket and runtime.unit"
}

// kubeletStartUp is how long a kubelet is in its own start-up.
const kubeletStartUp = time.Minute

// endingSlack is how much longer than its grace a pod may take to end.
const endingSlack = 30 * time.Second

// endingOf are the pods that the kubelet is ending, and that still run: those
// that it calls so, and those whose manifest is gone, or has changed or come back
// since the sandbox was made, for as long as their grace may last.
func endingOf(s *node.Snapshot, h *History) []node.PodName {
	var out []node.PodName
	runs := func(sb *node.Sandbox) bool {
		return slices.ContainsFunc(sb.Containers, func(c node.Container) bool { return c.State == node.ContainerRunning })
	}
	for i := range s.Runtime.Sandboxes {
		sb := &s.Runtime.Sandboxes[i]
		if !sb.Static() || !runs(sb) {
			continue
		}
		grace := graceOf(sb)
		if grace < 0 {
			grace = hour
		}
		if since := endsSince(s, h, sb); since > 0 && s.Taken.Boot-since < grace+endingSlack && !slices.Contains(out, sb.Pod) {
			out = append(out, sb.Pod)
		}
	}
	for i := range s.Kubelet.View.Pods {
		v := &s.Kubelet.View.Pods[i]
		if !v.Terminating && v.Phase != corev1.PodFailed && v.Phase != corev1.PodSucceeded {
			continue
		}
		for _, sb := range s.Runtime.Of(v.Name) {
			if sb.UID == v.UID && runs(&sb) {
				out = append(out, v.Name)
				break
			}
		}
	}
	slices.SortFunc(out, func(a, b node.PodName) int { return strings.Compare(a.String(), b.String()) })
	return out
}

// endsSince is since when the kubelet may be ending what runs in a sandbox,
// because its manifest is gone, or has changed or come back; 0 if it is not.
func endsSince(s *node.Snapshot, h *History, sb *node.Sandbox) time.Duration {
	seen, ok := h.Manifests[sb.Pod.String()]
	switch {
	case !ok || seen.Gone:
		return h.Faults[faultID(&finding{key: Key{PodName: sb.Pod}, state: NoManifest})].Since
	case s.Taken.Wall.Sub(sb.CreatedAt) <= s.Taken.Boot-seen.Since:
		return 0
	case seen.UID == sb.UID:
		return seen.Since
	}
	// A stop that kubelet or runtime did not live to see begins anew.
	return max(seen.Since, h.Kubelet.Since, h.Runtime.Since)
}

// otherEnds names one of them that is not the pod at fault.
func (a *asked) otherEnds() string {
	for _, name := range a.node.ending {
		if name != a.verdict.PodName {
			return name.String()
		}
	}
	return ""
}

func (a *asked) conf() config.Step { return StepOf(a.policy.Steps, a.kind) }

// pod tells that the verdict is about a pod, not about a service.
func (a *asked) pod() bool { return a.verdict.Name != "" }

// hasUnit tells that a service has a unit: a host without systemd says in the
// configuration that it has none.
func (a *asked) hasUnit(u node.Unit) bool { return u.Name != "" && u.LoadState != "not-found" }

func (a *asked) kubeletUp() bool { return a.snap.Kubelet.Unit.Up() || !a.hasUnit(a.snap.Kubelet.Unit) }

// needsKubelet tells verdicts that a kubelet which has only just started would
// still mend by itself.
func (a *asked) needsKubelet() bool {
	switch a.verdict.State {
	case StaleRunning, TwoGenerations, StartHung, StopHung, SandboxLost, DuplicateRunning, Leftover:
		return false
	}
	return true
}

// within says that less than hold has passed since a moment; "" otherwise.
func (a *asked) within(since time.Duration, hold config.Duration) string {
	if left := since + hold.Duration - a.snap.Taken.Boot; left > 0 {
		return "another " + span(left)
	}
	return ""
}

func when(is bool, why string) string {
	if is {
		return why
	}
	return ""
}

func whenUnit(is bool, u node.Unit) string {
	if is {
		return unitText(u)
	}
	return ""
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return firstLine(err.Error())
}
