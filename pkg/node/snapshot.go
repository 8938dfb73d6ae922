package node

import "time"

// Snapshot is everything that one look saw. It is immutable once Look has
// returned it: readers share it without locks and must not write to it.
type Snapshot struct {
	Taken Instant
	// Interval is the time after which the next look is meant to follow. Much
	// more time than that between two looks is time in which nobody looked.
	Interval time.Duration
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
	// Err says what of the below could not be asked: what it then says means
	// nothing. Unknown is not absent.
	Err error
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

// Answer is what a source says to one question. The zero value is Unknown.
type Answer int8

// Answers.
const (
	Unknown Answer = iota
	Yes
	No
)

// AnswerOf is Yes or No.
func AnswerOf(yes bool) Answer {
	if yes {
		return Yes
	}
	return No
}

// String is "unknown", "yes" or "no".
func (a Answer) String() string {
	switch a {
	case Yes:
		return "yes"
	case No:
		return "no"
	}
	return "unknown"
}

// Settings are the parts of the kubelet's configuration that decide when it
// restarts a container, as the running process has them: its flags, its
// KubeletConfiguration file and --config-dir drop-ins.
type Settings struct {
	// Err says what could not be read. That holds the kubelet's default, or the
	// value of the files before it; all else is as read.
	Err error
	// NodeName is the kubelet's node name, the suffix of static pod names; empty
	// if it cannot be proved, for which NodeNameErr is the reason.
	NodeName    string
	NodeNameErr error
	// NodeNameFrom says how the name is known: "--hostname-override", "client
	// certificate", "host name", "kubelet.nodeName".
	NodeNameFrom string
	// Version is the kubelet's, such as "1.33.13"; empty if unknown.
	Version string
	// NotReadYet are files of the configuration that are younger than the
	// process. Their values are not in force; the more patient ones count.
	NotReadYet []string
	// StaticPodPath is the manifest directory (or one file); StaticPodURL is
	// where the kubelet gets more of them, or empty.
	StaticPodPath, StaticPodURL string
	// StaticPodPathErr is why it is not known which directory the process has;
	// StaticPodPath is then empty.
	StaticPodPathErr error
	// FileCheckFrequency is how often the kubelet lists the manifests; 0 for its
	// default of 20 s.
	FileCheckFrequency time.Duration
	// RootDir is the kubelet's, "/var/lib/kubelet" by default.
	RootDir string
	// MaxPods is the most pods that the kubelet admits; 0 for its default of 110.
	MaxPods int
	// NodeLabels are the keys of the labels that the kubelet gives the node
	// itself (--node-labels), without an API server.
	NodeLabels []string
	// RuntimeEndpoint is the runtime that the kubelet uses, such as
	// "unix:///var/run/crio/crio.sock"; empty where nothing tells.
	RuntimeEndpoint string
	// HealthzURL is where the kubelet answers pings; empty if it does not
	// (healthzPort: 0).
	HealthzURL string
	// MaxContainerRestartPeriod caps the crash-loop back-off; 0 means the
	// default of 300 s.
	MaxContainerRestartPeriod time.Duration
	// FeatureGates are the gates set explicitly, by name; AllFeatureGates tells
	// that the process was started with no others.
	FeatureGates    map[string]bool
	AllFeatureGates bool
	// CgroupDriver is "systemd" or "cgroupfs" as the file says; the kubelet
	// prefers the runtime's answer.
	CgroupDriver string
}
