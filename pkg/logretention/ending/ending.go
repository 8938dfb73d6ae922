package ending

import (
	"fmt"
	"syscall"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// Ending is how an attempt ended. The fields are those of record.Meta.
type Ending struct {
	Class record.Class
	// Reason is one line, never empty.
	Reason string
	// ExitCode is nil if nobody knows it; Signal is 0 if it was not one.
	ExitCode  *int32
	Signal    int
	OOMKilled bool
	// KnownFrom says who knew the exit code.
	KnownFrom record.Source
}

// oomKilled is CRI's reason for it, of CRI-O and of containerd.
const oomKilled = "OOMKilled"

// Classify says how an attempt ended. It is meant for attempts that have ended;
// for any other it says lost-exit.
func Classify(f Facts) Ending {
	code, from, doubt := f.code()
	e := Ending{ExitCode: code, Signal: signal(code), KnownFrom: from, OOMKilled: f.oom()}
	switch {
	case e.OOMKilled:
		e.Class, e.Reason = record.OOM, "the kernel killed a process of it at the memory limit"
	case code == nil:
		e.Class, e.Reason = f.lost(doubt)
	case *code == 0:
		e.Class, e.Reason = f.clean()
	default:
		e.Class, e.Reason = f.failed(*code, e.Signal)
	}
	return e
}

// Circumstantial tells whether the class may depend on Fate, which has then to
// be that of a moment after the end.
func Circumstantial(f Facts) bool {
	classes := map[record.Class]bool{}
	for _, fate := range []Fate{FateUnknown, Stays, Replaced, Removed} {
		f.Fate = fate
		classes[Classify(f).Class] = true
	}
	return len(classes) > 1
}

func (f Facts) oom() bool {
	return f.OOM || f.Record != nil && f.Record.Reason == oomKilled && !f.Record.StatusUnknown
}

// lost is for an attempt that no exit code is left of.
func (f Facts) lost(doubt string) (record.Class, string) {
	if doubt == "" {
		doubt = "no exit code is left of it"
	}
	switch {
	case f.OtherBoot:
		return record.LostInReboot, "it began in an earlier boot, and " + doubt
	case f.stale():
		return record.LostExit, "its process was gone while the runtime called it running"
	case f.Record != nil && f.Record.State == node.ContainerExited && f.Record.StatusUnknown:
		return record.LostExit, "the runtime did not tell the status of its record"
	case f.Record == nil && f.ShuttingDown:
		return record.LostInReboot, "the node was shutting down, and " + doubt
	case f.Record == nil && f.Act != "":
		return record.KilledByKubelet, "stopped by act " + f.Act + " of nodekeeper; " + doubt
	case f.Record == nil && f.Fate == Replaced:
		return record.ReplacedByRevision, "inferred: the pod was replaced; " + doubt
	case f.Record == nil && f.Fate == Removed:
		return record.KilledByKubelet, "inferred: the pod's manifest was removed; " + doubt
	}
	return record.LostExit, doubt
}

// stale tells an attempt whose monitor died first: nobody waited for it.
func (f Facts) stale() bool {
	return f.ProcessLost || f.Record != nil && f.Record.State == node.ContainerRunning && f.Record.Process.Dead()
}

func (f Facts) clean() (record.Class, string) {
	switch f.Fate {
	case Replaced:
		return record.ReplacedByRevision, "exit code 0 while the pod was being replaced"
	case Removed:
		return record.KilledByKubelet, "inferred: exit code 0 after the pod's manifest was removed"
	}
	return record.Completed, "exit code 0"
}

// failed is for exit codes other than 0. TERM and KILL are what everybody stops
// containers with, so that they need the circumstances.
func (f Facts) failed(code int32, signal int) (record.Class, string) {
	what := fmt.Sprintf("exit code %d", code)
	if signal != 0 {
		what = fmt.Sprintf("signal %d (%s)", signal, syscall.Signal(signal))
	}
	asked := signal == int(syscall.SIGTERM) || signal == int(syscall.SIGKILL)
	switch {
	case f.ShuttingDown:
		return record.LostInReboot, what + " while the node was shutting down"
	case signal == int(syscall.SIGKILL) && f.TooSoon && f.Act == "":
		return record.Crash, what + ", sooner after the manifest's change than the kubelet sends it"
	case asked && f.Fate == Replaced:
		return record.ReplacedByRevision, what + " while the pod was being replaced"
	case asked && f.Act != "":
		return record.KilledByKubelet, what + ": stopped by act " + f.Act + " of nodekeeper"
	case asked && f.Fate == Removed:
		return record.KilledByKubelet, "inferred: " + what + " after the pod's manifest was removed"
	case signal == int(syscall.SIGTERM):
		return record.KilledByKubelet, "inferred: " + what + " is how the kubelet stops a container"
	case signal == int(syscall.SIGKILL):
		return record.Crash, what + ", not for memory, and nothing says that the kubelet sent it"
	case f.Fate == Replaced:
		return record.Crash, what + " while the pod was being replaced"
	case code == substitute:
		return record.Crash, what + ", which is also what the runtime says when it does not know"
	}
	return record.Crash, what
}
