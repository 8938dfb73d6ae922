package ending

import "github.com/nodekeeper/nodekeeper/pkg/node"

// Fate is what became of an attempt's pod by the time that the attempt ended.
type Fate string

// Fates of a pod. The zero value is not known: nothing follows from it.
const (
	FateUnknown Fate = ""
	// Stays: its manifest is there, and is what it was.
	Stays Fate = "stays"
	// Replaced: its manifest has changed, or there is a newer generation (UID)
	// of the same pod name.
	Replaced Fate = "replaced"
	// Removed: its manifest is gone.
	Removed Fate = "removed"
)

// Facts are what is left of an attempt. The zero value says that nothing is.
type Facts struct {
	// Record is CRI's record of the attempt; nil if there is none, or none to
	// be had.
	Record *node.Container
	// Exit is the content of conmon's exit file; nil if it was not read.
	Exit *int32
	// NoExit is set when the file's directory was looked at, and the file is
	// not there: conmon never wrote it.
	NoExit bool
	// OOM is set when conmon's oom file is there.
	OOM bool
	// ProcessLost is set when CRI once called the attempt running while its
	// process was certainly gone. Whatever CRI says later is a substitute.
	ProcessLost bool
	// OtherBoot is set when the attempt began in another boot than this one.
	OtherBoot bool
	// ShuttingDown is set when the node was going down at the time.
	ShuttingDown bool
	// Fate is what became of the pod.
	Fate Fate
	// TooSoon is set when the attempt ended so soon after its pod had changed
	// that the kubelet, which sends TERM and waits, cannot have sent KILL yet.
	TooSoon bool
	// Act is the ID of an act of ours that stopped the attempt; empty if none
	// did.
	Act string
}
