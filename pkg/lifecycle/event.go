package lifecycle

import "time"

// DefaultSocket is where the agent, or systemd for it, listens.
const DefaultSocket = "/run/nodekeeper/lifecycle.sock"

// Kind is what has happened to a container.
type Kind string

// Kinds of events.
const (
	// Created: the runtime is making it; its process has not run yet.
	Created Kind = "created"
	Started Kind = "started"
	Stopped Kind = "stopped"
	// Removed: the runtime has forgotten it. With CRI-O this comes long after
	// its end (OCI's poststop is run by RemoveContainer).
	Removed Kind = "removed"
)

// Source is who saw it.
type Source string

// Sources of events.
const (
	Hook Source = "hook"
	NRI  Source = "nri"
)

// Event is one change of one container. What the source did not know is zero.
type Event struct {
	Kind        Kind   `json:"kind"`
	Source      Source `json:"source"`
	ContainerID string `json:"containerID"`
	SandboxID   string `json:"sandboxID,omitempty"`
	Namespace   string `json:"namespace,omitempty"`
	Pod         string `json:"pod,omitempty"`
	PodUID      string `json:"podUID,omitempty"`
	Container   string `json:"container,omitempty"`
	// Attempt is CRI's attempt number.
	Attempt uint32 `json:"attempt,omitempty"`
	LogPath string `json:"logPath,omitempty"`
	// Bundle is the OCI bundle's directory.
	Bundle string `json:"bundle,omitempty"`
	BootID string `json:"bootID,omitempty"`
	// Pid is in the node's PID namespace.
	Pid int `json:"pid,omitempty"`
	// Time is the node's wall clock.
	Time time.Time `json:"time,omitzero"`
	// Detail is one line for a reader of the journal.
	Detail string `json:"detail,omitempty"`
}
