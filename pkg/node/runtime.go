package node

import "time"

// Runtime is the container runtime's side of the node.
type Runtime struct {
	// Err is set when CRI did not answer. Sandboxes is then empty and means
	// nothing; Calls, MonitorsInUnit and Programs are filled
	// all the same.
	Err error
	// Silent is how long the runtime has let a probe of its own wait, which any
	// answer ends, also a refusal. Nothing listening on the socket counts as
	// silence. 0 while it answers, and where something of our own (no
	// permission, a list that is too large) explains the Err.
	Silent time.Duration
	// Network tells whether CRI calls the pod network ready; NetworkDetail is
	// its reason where it does not.
	Network       Answer
	NetworkDetail string
	// Images tells of images of manifests, by the name in the manifest, whether
	// the runtime has them. Only those of containers that do not run are asked.
	Images map[string]Answer
	// Socket is the path that CRI is asked at.
	Socket string
	// Name and Version are CRI's own, for example "cri-o" and "1.34.0".
	Name, Version string
	// Unit is the state of the runtime's service.
	Unit Unit
	// MonitorsInUnit is set when container monitors (conmon) live in the
	// runtime unit's own cgroup, so that stopping the unit may kill every
	// container of the node.
	MonitorsInUnit bool
	// Sandboxes are all pod sandboxes of the node, static pods or not.
	Sandboxes []Sandbox
	// Calls are OCI runtime processes (create, start, ...) in flight that the
	// runtime or one of its container monitors has started; those of others (a
	// build in a pod, a unit that runs runc) are not among them.
	Calls []RuntimeCall
	// Programs are those programs to look out for that run just now.
	Programs []string
}

// Of returns the sandboxes of one pod name, all generations, ordered by UID,
// the newest attempt of each first.
func (r Runtime) Of(name PodName) []Sandbox {
	var out []Sandbox
	for _, s := range r.Sandboxes {
		if s.Pod == name {
			out = append(out, s)
		}
	}
	return out
}

// Sandbox is one CRI pod sandbox with its containers.
type Sandbox struct {
	ID  string
	Pod PodName
	UID string
	// Attempt counts the sandboxes of one pod UID, from 0.
	Attempt uint32
	Ready   bool
	// Source is the kubelet's config source: "file", "http" or "api"; empty
	// when the annotation is missing.
	Source      string
	CreatedAt   time.Time
	Labels      map[string]string
	Annotations map[string]string
	// Process is the sandbox's own ("infra") process; the zero value where there
	// is none, or where the runtime does not tell.
	Process Process
	// Containers are all records, also dead ones, ordered by name and then by
	// attempt, newest first.
	Containers []Container
}

// Static tells whether the kubelet got the pod from a file or a URL.
func (s Sandbox) Static() bool { return s.Source == "file" || s.Source == "http" }

// Newest returns the record with the highest attempt of a container.
func (s Sandbox) Newest(container string) (Container, bool) {
	for _, c := range s.Containers {
		if c.Name == container {
			return c, true
		}
	}
	return Container{}, false
}

// ContainerState is CRI's container state.
type ContainerState string

// The states of CRI.
const (
	ContainerCreated ContainerState = "created"
	ContainerRunning ContainerState = "running"
	ContainerExited  ContainerState = "exited"
	ContainerUnknown ContainerState = "unknown"
)

// Container is one CRI container record: one attempt of one container.
type Container struct {
	ID        string
	SandboxID string
	Name      string
	// Attempt is CRI's metadata attempt, which the kubelet sets to the restart
	// count. It orders records; CreatedAt does not (the clock may have run
	// backwards in between).
	Attempt uint32
	State   ContainerState
	// CreatedAt, StartedAt and FinishedAt are what CRI says, on the wall clock
	// of that moment. FinishedAt may be zero, absurd or in the future.
	CreatedAt, StartedAt, FinishedAt time.Time
	// ExitCode is -1 where CRI-O could not learn it.
	ExitCode int32
	// Reason is CRI's, for example "OOMKilled", "Error" or "Completed".
	Reason string
	// StatusUnknown is set for an exited container whose status the runtime did
	// not tell: ExitCode, Reason and FinishedAt then mean nothing.
	StatusUnknown bool
	// Image is what it was made from, in the runtime's words: with CRI-O and a
	// kubelet the image's ID. Empty where the runtime does not tell.
	Image string
	// LogPath is the log file on the node.
	LogPath string
	// Grace is how long the kubelet lets the container end: the larger of the
	// pod's terminationGracePeriodSeconds and deletionGracePeriodSeconds, as the
	// kubelet wrote them on the container; negative if neither is there.
	Grace time.Duration
	// Process is what is behind a running container; the zero value for others.
	Process Process
}

// ProcessState says whether the process that CRI names is really there.
type ProcessState string

// States of the process behind a running container.
const (
	// ProcessUnknown: it could not be looked at. Never a reason to act.
	ProcessUnknown ProcessState = ""
	ProcessAlive   ProcessState = "alive"
	// ProcessGone: no such process, or another process has taken its number.
	ProcessGone ProcessState = "gone"
	// ProcessZombie: it has exited and nobody has waited for it.
	ProcessZombie ProcessState = "zombie"
)

// Process is a container's init process.
type Process struct {
	PID   int
	State ProcessState
	// CgroupEmpty is judged for processes that are gone only. It is set when the container's cgroup was found and holds no
	// living process, or is gone altogether.
	CgroupEmpty bool
	// Frozen is set when the cgroup is frozen: somebody paused the container.
	Frozen bool
}

// Dead tells that the process is certainly gone and left none behind.
func (p Process) Dead() bool {
	return (p.State == ProcessGone || p.State == ProcessZombie) && p.CgroupEmpty
}

// RuntimeCall is a running OCI runtime process, for example "runc start".
type RuntimeCall struct {
	PID int
	// Verb is "create", "start", "kill", ...
	Verb string
	// ContainerID is the container that it works on; empty if unknown.
	ContainerID string
	// Age is how long it has been running.
	Age time.Duration
}
