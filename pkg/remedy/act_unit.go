package remedy

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// restartUnit has systemd restart a unit and returns when the job is done or
// when all has been tried. Whether the new process works is for the caller to
// see: the job of a Type=simple unit succeeds in any case.
//
// A process in state T needs nothing special, because systemd sends SIGCONT
// along. One that does not end within stopBound gets SIGKILL; the restart job
// stays queued and starts the unit after that.
func (e *Executor) restartUnit(ctx context.Context, before node.Unit, name string, stopBound time.Duration, unitOf func(*node.Snapshot) node.Unit) error {
	if before.ActiveState == "failed" {
		return e.startFailed(ctx, name)
	}
	job, cancel := context.WithTimeout(ctx, stopBound)
	defer cancel()
	err := e.Units.Restart(job, name)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return err
	}
	now := unitOf(e.Look(ctx))
	switch {
	case now.ActiveState == "failed":
		return e.startFailed(ctx, name)
	case renewed(before, now) && now.Up():
		return nil
	case job.Err() == nil && !errors.Is(err, context.DeadlineExceeded):
		return err
	case now.MainPID == 0 || renewed(before, now):
		return nil // it has ended and is on its way up: the caller waits
	}
	if err := e.Units.Kill(ctx, name, syscall.SIGKILL); err != nil {
		return fmt.Errorf("%s did not stop within %s: %w", name, stopBound, err)
	}
	return nil
}

// startFailed starts a unit that systemd has given up, for example because it
// was started too often.
func (e *Executor) startFailed(ctx context.Context, name string) error {
	if err := e.Units.ResetFailed(ctx, name); err != nil {
		return err
	}
	return e.Units.Start(ctx, name)
}

// renewed tells that a unit has another main process than before.
func renewed(before, now node.Unit) bool {
	if now.Err != nil || now.MainPID == 0 {
		return false
	}
	return now.MainPID != before.MainPID || now.ProcessStarted != before.ProcessStarted
}
