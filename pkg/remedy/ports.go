package remedy

import (
	"context"
	"syscall"
	"time"
)

// Runtime are the acts on the container runtime, over CRI. Each call returns
// when its context ends; its error says what was being done, and to what.
type Runtime interface {
	StopContainer(ctx context.Context, id string, grace time.Duration) error
	RemoveContainer(ctx context.Context, id string) error
	// StopPodSandbox has no grace of its own: CRI-O takes the deadline of the
	// context as the grace of the sandbox's containers.
	StopPodSandbox(ctx context.Context, id string) error
}

// Units are the acts on the service manager. Restart and Start return when the
// job is done; the job goes on when the context ends before that. Errors say
// what was being done, and to what.
type Units interface {
	Restart(ctx context.Context, unit string) error
	Start(ctx context.Context, unit string) error
	ResetFailed(ctx context.Context, unit string) error
	// Kill sends a signal to the unit's main process only.
	Kill(ctx context.Context, unit string, signal syscall.Signal) error
}
