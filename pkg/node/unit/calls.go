package unit

import (
	"context"
	"errors"
	"fmt"

	systemdbus "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"
)

// errLost is returned for a job whose result cannot arrive any more.
var errLost = errors.New("the connection to systemd was lost while the job was waited for")

// Properties reads those of all interfaces at once.
func (b *bus) Properties(ctx context.Context, unit string) (map[string]any, error) {
	return b.GetAllPropertiesContext(ctx, unit)
}

func (b *bus) SystemState(ctx context.Context) (string, error) {
	state, err := b.SystemStateContext(ctx)
	if err != nil {
		return "", err
	}
	text, ok := state.Value.Value().(string)
	if !ok {
		return "", fmt.Errorf("system state is not a text: %v", state.Value)
	}
	return text, nil
}

// PreparingForShutdown does not have the bus start logind: where it does not
// run, nobody has announced anything.
func (b *bus) PreparingForShutdown(ctx context.Context) (bool, error) {
	if !b.logind {
		return false, errNoLogind
	}
	logind := b.conns[0].Object("org.freedesktop.login1", "/org/freedesktop/login1")
	var announced dbus.Variant
	err := logind.CallWithContext(ctx, "org.freedesktop.DBus.Properties.Get", dbus.FlagNoAutoStart,
		"org.freedesktop.login1.Manager", "PreparingForShutdown").Store(&announced)
	if err != nil {
		return false, err
	}
	yes, _ := announced.Value().(bool)
	return yes, nil
}

// Job waits for the JobRemoved signal of its job. The mode "replace" is what
// systemctl uses.
func (b *bus) Job(ctx context.Context, verb jobVerb, unit string) (string, error) {
	queue := b.StartUnitContext
	if verb == jobRestart {
		queue = b.RestartUnitContext
	}
	// Room for the result: a job that nobody waits for any more must not hold
	// up those of others.
	result := make(chan string, 1)
	if _, err := queue(ctx, unit, "replace", result); err != nil {
		return "", err
	}
	select {
	case r := <-result:
		return r, nil
	case <-ctx.Done():
		return "", ctx.Err()
	case <-b.conns[0].Context().Done():
		return "", errLost
	case <-b.conns[1].Context().Done():
		return "", errLost
	}
}

func (b *bus) KillMain(ctx context.Context, unit string, signal int32) error {
	return b.KillUnitWithTarget(ctx, unit, systemdbus.Main, signal)
}

func (b *bus) ResetFailed(ctx context.Context, unit string) error {
	return b.ResetFailedUnitContext(ctx, unit)
}

func (b *bus) Alive() bool { return b.Connected() }

// Close may be called more than once.
func (b *bus) Close() {
	b.end()
	b.Conn.Close()
}
