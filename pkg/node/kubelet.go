package node

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Kubelet is what the kubelet says of itself and of its pods.
type Kubelet struct {
	Unit    Unit
	Process KubeletProcess
	// Elsewhere is set when the process runs in another unit than the configured
	// one, which does not exist: Unit is then that other one. Restarting it may
	// restart more than the kubelet.
	Elsewhere bool
	// Healthy is the answer of 127.0.0.1:10248/healthz. It is a ping: true
	// says only that the process schedules.
	Healthy bool
	// HealthErr is why the ping failed. With neither, nobody was asked: the
	// kubelet has no such port, or none that is known.
	HealthErr error
	View      View
	Told      Told
}

// KubeletProcess is the process that is the kubelet of this node.
type KubeletProcess struct {
	// Err says why none could be told for certain: none runs, or two do. All
	// else is then empty.
	Err error
	PID int
	// Started is on the boot clock. With the PID it identifies the process.
	Started time.Duration
	// State is the letter of /proc: R, S, D, T, Z.
	State string
	// Program is the path of its program, Unit the systemd service it runs in;
	// empty if it runs in none.
	Program, Unit string
}

// Told is what the kubelet has written into its journal: with no view of its
// pods, the only word of its own that there is. It is asked only while
// something is wrong.
type Told struct {
	// Err is why the journal could not be read.
	Err error
	// From is since when every line is known, on the boot clock; 0 if the
	// journal was not asked, or could not be read.
	From time.Duration
	// Last is when the kubelet last wrote anything; 0 for never since From.
	Last time.Duration
	// Pods is the newest failed sync of each pod.
	Pods map[PodName]Said
	// Manifests is the newest refusal of each manifest, by its path.
	Manifests map[string]Said
	// Containers are those whose status the runtime refused to the kubelet, by
	// container ID.
	Containers map[string]Said
	// NotDeleted is the last time that the kubelet could not let go of a static
	// pod, since its pod sources were not all ready. Only a kubelet with --v=2 or
	// more tells.
	NotDeleted map[PodName]time.Duration
}

// Known tells that what is not in Told was not said since From.
func (t Told) Known() bool { return t.Err == nil && t.From > 0 }

// Said is one thing that the kubelet wrote.
type Said struct {
	// At is the last time, on the boot clock.
	At time.Duration
	// Container is empty for the whole pod.
	Container string
	// Reason is the kubelet's word, for example "CrashLoopBackOff" or
	// "ErrImagePull"; empty if it gave none.
	Reason string
	// Message is one line of the kubelet's.
	Message string
}

// ViewSource names where the kubelet's view of its pods came from.
type ViewSource string

// Sources of the view, best first.
const (
	ViewPodsAPI ViewSource = "pods-api"
	ViewPods    ViewSource = "pods"
	// ViewNone: no view; only CRI and the manifests are known.
	ViewNone ViewSource = "none"
)

// View is the kubelet's view of its pods.
type View struct {
	Source ViewSource
	// SourcesNotReady is set when the Pods API answered FailedPrecondition:
	// the kubelet runs, and not all of its pod sources have answered yet.
	SourcesNotReady bool
	// Answered is set when the kubelet answered at all, also with a refusal: it
	// lives.
	Answered bool
	// Err is why there is no view, or why a better source was passed over.
	Err  error
	Pods []PodView
}

// Known tells whether Pods can be relied upon.
func (v View) Known() bool { return v.Source != ViewNone && v.Source != "" }

// Find returns the kubelet's view of a pod name. The kubelet holds one UID a
// name.
func (v View) Find(name PodName) (PodView, bool) {
	for _, p := range v.Pods {
		if p.Name == name {
			return p, true
		}
	}
	return PodView{}, false
}

// PodView is one pod as the kubelet sees it.
type PodView struct {
	Name    PodName
	UID     string
	Static  bool
	Phase   corev1.PodPhase
	Reason  string
	Message string
	// Terminating is set while the pod has a deletion time stamp.
	Terminating bool
	// Statuses are of init and regular containers together.
	Statuses []corev1.ContainerStatus
}

// Status returns the status of one container.
func (p PodView) Status(container string) (corev1.ContainerStatus, bool) {
	for _, s := range p.Statuses {
		if s.Name == container {
			return s, true
		}
	}
	return corev1.ContainerStatus{}, false
}

// Unit is the state of a systemd service.
type Unit struct {
	Name string
	// Err is set when the service manager did not answer.
	Err error
	// LoadState, ActiveState, SubState, Result and UnitFileState are systemd's
	// words: "loaded", "active", "running", "success", "enabled".
	LoadState, ActiveState, SubState, Result, UnitFileState string
	MainPID                                                 int
	// ProcessState is the main process's state letter in /proc (R, S, D, T,
	// Z), or empty.
	ProcessState string
	// ProcessStarted is when the main process began, on the boot clock; 0 if
	// it is not running.
	ProcessStarted time.Duration
	// KillMode and ControlGroup decide who dies with the unit.
	KillMode, ControlGroup string
	// Restarts is NRestarts: automatic restarts since the unit was started.
	Restarts uint32
	// JobPending is set while systemd has a job for the unit in its queue.
	JobPending bool
	// InactiveSince is when the unit last became inactive, on the monotonic
	// clock; 0 if it never did in this boot, or if systemd has forgotten it.
	InactiveSince time.Duration
	// LastJob is filled for a kubelet that is inactive: it says why.
	LastJob Job
}

// Job is what systemd last did to a unit. The zero value: it cannot be told.
type Job struct {
	// Err is why it cannot be told.
	Err error
	// Type and Result are systemd's words: "start", "stop", "restart"; "done",
	// "failed", "dependency".
	Type, Result string
	// Finished is when it ended, on the monotonic clock.
	Finished time.Duration
}

// Up tells that the unit is active and its main process is known not to be stopped.
func (u Unit) Up() bool {
	return u.Err == nil && u.ActiveState == "active" && u.MainPID > 0 &&
		u.ProcessState != "" && u.ProcessState != "T" && u.ProcessState != "t" && u.ProcessState != "Z"
}
