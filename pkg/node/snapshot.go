package node

import "time"

// Snapshot is everything that one look saw. It is immutable once Look has
// returned it: readers share it without locks and must not write to it.
type Snapshot struct {
	Taken    Instant
	Host     Host
	Settings Settings
	Intent   Intent
	Runtime  Runtime
	Kubelet  Kubelet
}

// Instant is one moment on both clocks of the node. Durations are always
// taken from Boot; Wall is for people and for comparing with time stamps that
// other programs wrote.
type Instant struct {
	Wall time.Time `json:"wall"`
	// Boot is CLOCK_BOOTTIME: time since boot, suspended time included. It
	// neither jumps nor runs backwards.
	Boot time.Duration `json:"boot"`
}

// Host is what holds for the node as a whole.
type Host struct {
	// BootID is /proc/sys/kernel/random/boot_id.
	BootID string
	// ShuttingDown is set while systemd stops the system or logind has
	// announced a shutdown.
	ShuttingDown bool
	// Busy names what else is changing the node just now (an ostree
	// transaction, a held installer lock), or is empty.
	Busy []string
	// Paused says until when and why an admin has suspended all acts, or is
	// empty.
	Paused string
}

// PodName is what the kubelet calls a pod's full name: unique on a node at one
// time, and the same for all revisions of one static pod.
type PodName struct {
	Namespace string `json:"namespace"`
	Name      string `json:"pod"`
}

// String is namespace/name.
func (n PodName) String() string { return n.Namespace + "/" + n.Name }

// Settings are the parts of the kubelet's configuration that decide when it
// restarts a container: KubeletConfiguration file and --config-dir drop-ins.
type Settings struct {
	// Err says what could not be read. That holds the kubelet's default, or the
	// value of the files before it; all else is as read.
	Err error
	// NodeName is the kubelet's node name, the suffix of static pod names.
	NodeName string
	// StaticPodPath is the manifest directory (or one file).
	StaticPodPath string
	// MaxContainerRestartPeriod caps the crash-loop back-off; 0 means the
	// default of 300 s.
	MaxContainerRestartPeriod time.Duration
	// FeatureGates are the gates set explicitly, by name.
	FeatureGates map[string]bool
	// CgroupDriver is "systemd" or "cgroupfs" as the file says; the kubelet
	// prefers the runtime's answer.
	CgroupDriver string
}
