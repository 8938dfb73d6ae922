package node

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Kubelet is what the kubelet says of itself and of its pods.
type Kubelet struct {
	Unit Unit
	// Healthy is the answer of 127.0.0.1:10248/healthz. It is a ping: true
	// says only that the process schedules.
	Healthy bool
	// HealthErr is why the ping failed.
	HealthErr error
	View      View
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

// Up tells that the unit is active and its main process is not stopped.
func (u Unit) Up() bool {
	return u.Err == nil && u.ActiveState == "active" && u.MainPID > 0 &&
		u.ProcessState != "T" && u.ProcessState != "t" && u.ProcessState != "Z"
}
