package unit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

var _ node.UnitReader = (*Units)(nil)

// Unit returns the state of a service: one D-Bus call and one file of /proc.
// An unknown service is no error; its LoadState is "not-found".
func (u *Units) Unit(ctx context.Context, name string) node.Unit {
	state := node.Unit{Name: name}
	var p properties
	err := u.with(ctx, true, func(c systemd) (err error) {
		p, err = c.Properties(ctx, name)
		return err
	})
	if err != nil {
		state.Err = explain("ask systemd for the state of", name, err)
		return state
	}
	state.LoadState = p.text("LoadState")
	state.ActiveState = p.text("ActiveState")
	state.SubState = p.text("SubState")
	state.Result = p.text("Result")
	state.UnitFileState = p.text("UnitFileState")
	state.MainPID = int(p.number("MainPID"))
	state.KillMode = p.text("KillMode")
	state.ControlGroup = p.text("ControlGroup")
	state.Restarts = p.number("NRestarts")
	state.InactiveSince = p.moment("InactiveEnterTimestampMonotonic")
	state.JobPending = p.job()
	if state.MainPID > 0 {
		// A main process that has just gone leaves these empty.
		if stat, err := u.host.Stat(state.MainPID); err == nil {
			state.ProcessState, state.ProcessStarted = stat.State, stat.Started
		}
	}
	return state
}

// ShuttingDown tells that systemd stops the system, or that logind has
// announced a shutdown. A logind that does not run has announced none; without
// an answer of the others it is not known.
func (u *Units) ShuttingDown(ctx context.Context) (bool, error) {
	var state string
	err := u.with(ctx, true, func(c systemd) (err error) {
		state, err = c.SystemState(ctx)
		return err
	})
	if err == nil && state == "stopping" {
		return true, nil
	}
	var announced bool
	logindErr := u.with(ctx, true, func(c systemd) (err error) {
		announced, err = c.PreparingForShutdown(ctx)
		return err
	})
	switch {
	case logindErr == nil && announced:
		return true, nil
	case err != nil:
		return false, fmt.Errorf("ask systemd whether the system stops: %w", err)
	case logindErr != nil && !absent(logindErr):
		return false, fmt.Errorf("ask logind whether a shutdown is announced: %w", logindErr)
	}
	return false, nil
}

// absent tells that logind does not run or cannot be reached from here.
func absent(err error) bool {
	var reply dbus.Error
	return errors.Is(err, errNoLogind) || errors.As(err, &reply) &&
		(reply.Name == "org.freedesktop.DBus.Error.ServiceUnknown" || reply.Name == "org.freedesktop.DBus.Error.NameHasNoOwner")
}

// properties are a unit's, as D-Bus gives them.
type properties map[string]any

func (p properties) text(key string) string {
	s, _ := p[key].(string)
	return s
}

func (p properties) number(key string) uint32 {
	n, _ := p[key].(uint32)
	return n
}

// job tells whether a job waits or runs: D-Bus has its number and its path, and
// number 0 for none.
func (p properties) job() bool {
	job, _ := p["Job"].([]any)
	if len(job) == 0 {
		return false
	}
	number, _ := job[0].(uint32)
	return number != 0
}

// moment is a time stamp on the monotonic clock; D-Bus has microseconds.
func (p properties) moment(key string) time.Duration {
	n, _ := p[key].(uint64)
	return time.Duration(n) * time.Microsecond
}
