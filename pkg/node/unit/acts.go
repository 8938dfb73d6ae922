package unit

import (
	"context"
	"fmt"
	"syscall"
)

// Restart stops and starts a service and waits until systemd is done. For a
// service of Type=simple that says nothing of whether it lives on: look again.
// A runtime with hung calls inside takes its whole stop time-out, 90 s. If the
// context ends first, the job stays queued and goes on.
func (u *Units) Restart(ctx context.Context, name string) error {
	return u.job(ctx, jobRestart, name)
}

// Start starts a service and waits until systemd is done. Starting an active
// one is no error.
func (u *Units) Start(ctx context.Context, name string) error {
	return u.job(ctx, jobStart, name)
}

// Kill sends a signal to a service's main process and to no other. It does not
// wait for the effect.
func (u *Units) Kill(ctx context.Context, name string, signal syscall.Signal) error {
	err := u.with(ctx, false, func(c systemd) error { return c.KillMain(ctx, name, int32(signal)) })
	if err != nil {
		return explain("send "+signal.String()+" to the main process of", name, err)
	}
	return nil
}

// ResetFailed clears a service's failed state and its start limit.
func (u *Units) ResetFailed(ctx context.Context, name string) error {
	err := u.with(ctx, true, func(c systemd) error { return c.ResetFailed(ctx, name) })
	if err != nil {
		return explain("reset the failed state of", name, err)
	}
	return nil
}

// job queues a job and waits for its result. It is never queued twice: if the
// connection is lost while waiting, the job may be under way.
func (u *Units) job(ctx context.Context, verb jobVerb, name string) error {
	var result string
	err := u.with(ctx, false, func(c systemd) (err error) {
		result, err = c.Job(ctx, verb, name)
		return err
	})
	switch {
	case err != nil:
		return explain(string(verb), name, err)
	case result == "done":
		return nil
	case result == "dependency":
		return fmt.Errorf("%s %s: a unit that it requires could not be started", verb, name)
	}
	return fmt.Errorf("%s %s: systemd says %q", verb, name, result)
}
