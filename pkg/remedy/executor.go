package remedy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// Dependencies are what an Executor needs of the node.
type Dependencies struct {
	// Look takes a fresh look. It must return soon after its context ends.
	Look    func(ctx context.Context) *node.Snapshot
	Runtime Runtime
	// Units is nil on a host without systemd.
	Units Units
	// KubeletUnit and RuntimeUnit are unit names such as "kubelet.service".
	KubeletUnit, RuntimeUnit string
	// RestartCommand restarts the kubelet instead of Units when it is set.
	RestartCommand []string
	Policy         config.Restart
	// EvidenceDir holds one directory for each act, for example
	// /var/log/nodekeeper/acts. It is made when it is missing.
	EvidenceDir string
	// InstallerLocks are patterns of lock files (flock) that writers of
	// manifests hold; nil means DefaultInstallerLocks.
	InstallerLocks []string
	Logger         *slog.Logger
}

// Executor carries out steps, one at a time: one goroutine may use it.
type Executor struct {
	Dependencies
	evidence *archive
	// pause is the time between two looks while waiting for an effect.
	pause time.Duration
}

// New returns an Executor. It touches nothing yet.
func New(d Dependencies) *Executor {
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	if d.InstallerLocks == nil {
		d.InstallerLocks = DefaultInstallerLocks
	}
	return &Executor{Dependencies: d, evidence: newArchive(d), pause: time.Second}
}

// Confirm asks by a fresh look whether a step is still to be taken, and says all
// that is against it. The policy answers: this package decides nothing.
type Confirm func(*node.Snapshot) []restartpolicy.Inhibitor

// Outcome is what became of a step.
type Outcome struct {
	// Result is refused, dry-run, done or failed.
	Result restartpolicy.Result
	// Detail is one line: why it was refused, the error, or what was seen.
	Detail string
	// Evidence is the directory with what was saved beforehand; empty if
	// nothing was.
	Evidence string
}

// refusal is the error of an act that found, before it changed anything, that
// it must not be done.
type refusal string

func (r refusal) Error() string { return string(r) }

// reviewAfter is how long saving the evidence may take before the facts count
// as stale and are looked at again.
const reviewAfter = time.Second

// Do carries out one step. The end of ctx before the act begins means that the
// step is refused; after that the call in hand is finished within the step's
// Timeout, and only the wait for its effect is cut short. Do returns within
// the Timeout plus the time for the evidence and two looks.
func (e *Executor) Do(ctx context.Context, step restartpolicy.Step, confirm Confirm) Outcome {
	began := time.Now()
	out := e.do(ctx, step, confirm)
	e.log(step, out, time.Since(began))
	if out.Evidence != "" {
		e.evidence.conclude(out)
	}
	return out
}

func (e *Executor) do(ctx context.Context, step restartpolicy.Step, confirm Confirm) Outcome {
	s := e.Look(ctx)
	if why := against(ctx, s, confirm); why != "" {
		return Outcome{Result: restartpolicy.ResultRefused, Detail: why}
	}
	if e.Policy.DryRun {
		return Outcome{Result: restartpolicy.ResultDryRun, Detail: step.Reason}
	}
	began := time.Now()
	dir, missing := e.evidence.save(ctx, subjectOf(s, step, e.RuntimeUnit))
	if time.Since(began) > reviewAfter {
		s = e.Look(ctx)
	}
	if why := against(ctx, s, confirm); why != "" {
		return Outcome{Result: restartpolicy.ResultRefused, Detail: why, Evidence: dir}
	}
	detail, err := e.act(ctx, step, s)
	out := Outcome{Result: restartpolicy.ResultDone, Detail: detail, Evidence: dir}
	var refused refusal
	switch {
	case errors.As(err, &refused):
		out.Result, out.Detail = restartpolicy.ResultRefused, refused.Error()
	case err != nil:
		out.Result, out.Detail = restartpolicy.ResultFailed, oneLine(err.Error())
	}
	if len(missing) > 0 {
		out.Detail = strings.TrimPrefix(out.Detail+fmt.Sprintf("; evidence incomplete: %d of it missing, first %s", len(missing), oneLine(missing[0])), "; ")
	}
	return out
}

// against is why a step must not be taken, by a look, or "".
func against(ctx context.Context, s *node.Snapshot, confirm Confirm) string {
	if ctx.Err() != nil {
		return restartpolicy.AgentStopping.String()
	}
	var lines []string
	for _, i := range confirm(s) {
		lines = append(lines, i.String())
	}
	return strings.Join(lines, "; ")
}

func (e *Executor) act(ctx context.Context, step restartpolicy.Step, s *node.Snapshot) (string, error) {
	switch step.Kind {
	case restartpolicy.StopContainer:
		return e.stopContainer(ctx, step)
	case restartpolicy.RemoveContainer:
		return e.removeContainer(ctx, step)
	case restartpolicy.StopOldSandbox, restartpolicy.StopSandbox:
		return e.stopSandbox(ctx, step)
	case restartpolicy.RestartKubelet:
		return e.restartKubelet(ctx, step, s)
	case restartpolicy.RestartRuntime:
		return e.restartRuntime(ctx, step, s)
	case restartpolicy.ReplaceManifest:
		return e.replaceManifest(ctx, step, s.Intent.Dir)
	}
	return "", refusal("no such step: " + string(step.Kind))
}

func (e *Executor) log(step restartpolicy.Step, out Outcome, took time.Duration) {
	e.Logger.Info("restart step",
		"step", string(step.Kind), "result", string(out.Result), "verdict", string(step.State), "reason", step.Reason,
		"namespace", step.Key.Namespace, "pod", step.Key.Name, "container", step.Key.Container,
		"attempt", step.Target.Attempt, "containerID", step.Target.ContainerID, "sandboxID", step.Target.SandboxID,
		"uid", step.Target.UID, "detail", out.Detail, "evidence", out.Evidence, "seconds", took.Seconds())
}

// oneLine keeps a message of another program to one line of a bounded length.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return strings.ToValidUTF8(s[:min(300, len(s))], "")
}
