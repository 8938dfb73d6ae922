package unit

import (
	"context"
	"errors"
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
	if state.MainPID > 0 {
		// A main process that has just gone leaves these empty.
		if stat, err := u.host.Stat(state.MainPID); err == nil {
			state.ProcessState, state.ProcessStarted = stat.State, stat.Started
		}
	}
	return state
}

// ShuttingDown tells that systemd stops the system, or that logind has
// announced a shutdown. Neither of them answering is no shutdown: a host
// without systemd has none to tell of, and a dead one shows in Unit.Err.
func (u *Units) ShuttingDown(ctx context.Context) bool {
	var state string
	err := u.with(ctx, true, func(c systemd) (err error) {
		state, err = c.SystemState(ctx)
		return err
	})
	if err == nil && state == "stopping" {
		return true
	}
	var announced bool
	err = u.with(ctx, true, func(c systemd) (err error) {
		announced, err = c.PreparingForShutdown(ctx)
		return err
	})
	if err != nil && !absent(err) {
		u.log.Debug("logind did not tell whether a shutdown is announced", "error", err)
	}
	return err == nil && announced
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

// moment is a time stamp on the monotonic clock; D-Bus has microseconds.
func (p properties) moment(key string) time.Duration {
	n, _ := p[key].(uint64)
	return time.Duration(n) * time.Microsecond
}
