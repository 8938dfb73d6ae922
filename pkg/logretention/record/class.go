package record

// Class says in one word why an attempt ended.
type Class string

// Classes of ended attempts.
const (
	// Crash: it ended by itself, with an exit code other than 0 or by a signal
	// of its own making.
	Crash Class = "crash"
	// OOM: the kernel killed it because its memory limit was reached.
	OOM Class = "oom"
	// KilledByKubelet: the kubelet stopped it (probe, deletion, eviction).
	KilledByKubelet Class = "killed-by-kubelet"
	// ReplacedByRevision: it was stopped because its manifest changed.
	ReplacedByRevision Class = "replaced-by-revision"
	// LostInReboot: it was running, or had not been recorded, when the node
	// went down.
	LostInReboot Class = "lost-in-reboot"
	// LostExit: it ended and nobody can say how.
	LostExit Class = "lost-exit"
	// Completed: exit code 0.
	Completed Class = "completed"
)

// Classes are all classes, in the order of the documentation.
var Classes = [...]Class{Crash, OOM, KilledByKubelet, ReplacedByRevision, LostInReboot, LostExit, Completed}

// Trouble tells classes that somebody will want to look into from those that
// come with ordinary operation.
func (c Class) Trouble() bool { return c == Crash || c == OOM || c == LostExit || c == LostInReboot }

// Source says who knew an exit code, or who saw a birth.
type Source string

// Sources of facts.
const (
	SourceHook     Source = "hook"      // the OCI hook, at createRuntime
	SourceNRI      Source = "nri"       // an NRI event
	SourceWatch    Source = "watch"     // inotify on the log directories
	SourceScan     Source = "scan"      // found by a scan, some time after its birth
	SourceCRI      Source = "cri"       // CRI's container status
	SourceExitFile Source = "exit-file" // conmon's exit file
	SourceInferred Source = "inferred"  // concluded from something else: see ClassReason
)
