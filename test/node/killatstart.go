package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/nodekeeper/nodekeeper/test/node/fault"
)

// KillKubeletAtStart does what trigger is for, which has the kubelet make a
// container that matches (a name of container or pod), and kills the kubelet by
// SIGKILL after the container's creation and before its start. The container
// stays Created. It needs Options.CRIProxy, and systemd starts the kubelet again.
func (b *Box) KillKubeletAtStart(ctx context.Context, match string, trigger func() error) error {
	rule := fault.Rule{Action: fault.Hang, Count: 1, Match: match}
	if err := b.SetCRIFault("StartContainer", rule); err != nil {
		return err
	}
	// The call ends with the connection of the kubelet, and is not passed on.
	return errors.Join(b.killWhileHeld(ctx, "StartContainer", b.options.KubeletUnit, trigger), b.SetCRIFault("StartContainer"))
}

// KillRuntimeAtStart is KillKubeletAtStart for CRI-O, which dies while the OCI
// runtime starts the container; that call must die along with it, as it does in
// profile OpenShift.
func (b *Box) KillRuntimeAtStart(ctx context.Context, match string, trigger func() error) error {
	if b.options.Profile != OpenShift {
		return fmt.Errorf("kill CRI-O of box %s at a start: in this profile the call of the OCI runtime outlives it", b.Name)
	}
	if err := b.SetRuntimeFault("start", fault.Rule{Action: fault.Hang, Count: 1, Match: match}); err != nil {
		return err
	}
	err := b.killWhileHeld(ctx, "start", CRIO, trigger)
	if err == nil {
		// By then systemd has ended what was left of it.
		err = poll(ctx, CRIO+" to run again", func() error {
			state, err := b.UnitProperty(ctx, CRIO, "ActiveState")
			if err == nil && state != "active" {
				err = errors.New(state)
			}
			return err
		})
	}
	return errors.Join(err, b.SetRuntimeFault("start"), b.Release())
}

func (b *Box) killWhileHeld(ctx context.Context, call, unit string, trigger func() error) error {
	if err := trigger(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := poll(ctx, call+" to be held", func() error {
		held, err := b.Held()
		if err == nil && !slices.Contains(held, call) {
			err = fmt.Errorf("held: %v", held)
		}
		return err
	}); err != nil {
		return err
	}
	pid, err := b.UnitProperty(ctx, unit, "MainPID")
	if err != nil {
		return err
	}
	if err := b.SignalUnit(ctx, unit, syscall.SIGKILL); err != nil {
		return err
	}
	// Else the rule could be gone before the process.
	return poll(ctx, "the end of "+unit, func() error {
		if now, err := b.UnitProperty(ctx, unit, "MainPID"); err != nil || now == pid {
			return fmt.Errorf("process %s (%w)", now, err)
		}
		return nil
	})
}
