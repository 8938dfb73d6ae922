package unit

import "context"

// systemd is the part of the service manager that this package uses. An
// implementation may be called concurrently.
type systemd interface {
	// Properties returns all properties of a unit in one call. A unit that
	// does not exist has LoadState "not-found".
	Properties(ctx context.Context, unit string) (map[string]any, error)
	// SystemState is "running", "degraded", "stopping", ...
	SystemState(ctx context.Context) (string, error)
	// PreparingForShutdown asks logind, if it runs.
	PreparingForShutdown(ctx context.Context) (bool, error)
	// Job queues a job and waits for its result: "done", "failed", ...
	Job(ctx context.Context, verb jobVerb, unit string) (string, error)
	KillMain(ctx context.Context, unit string, signal int32) error
	ResetFailed(ctx context.Context, unit string) error
	// Alive tells that the connection has not been lost.
	Alive() bool
	Close()
}

// jobVerb is what a job does to its unit.
type jobVerb string

const (
	jobStart   jobVerb = "start"
	jobRestart jobVerb = "restart"
)

// dialer makes a connection within the context, which must not end it later.
type dialer func(ctx context.Context) (systemd, error)
