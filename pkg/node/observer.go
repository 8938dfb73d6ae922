package node

import (
	"context"
	"sync"
	"time"
)

// Manifests reads the manifest directory. It never fails: what went wrong is
// in the Intent.
type Manifests interface {
	Read(dir, nodeName string) Intent
}

// SettingsReader reads the kubelet's configuration.
type SettingsReader interface {
	Settings() Settings
}

// RuntimeReader lists sandboxes and containers through CRI, and fills in the
// processes behind the running ones. What went wrong is in Runtime.Err.
type RuntimeReader interface {
	Runtime(ctx context.Context) Runtime
}

// KubeletReader asks the kubelet for its health and its view of its pods. The
// Unit is left empty.
type KubeletReader interface {
	Kubelet(ctx context.Context) Kubelet
}

// UnitReader reads the state of services, and of the host's shutdown.
type UnitReader interface {
	// Unit leaves the LastJob empty: that costs more than all the rest.
	Unit(ctx context.Context, name string) Unit
	LastJob(ctx context.Context, name string) Job
	ShuttingDown(ctx context.Context) bool
}

// Clock reads both clocks of the node.
type Clock interface {
	Now() Instant
	BootID() string
}

// Observer takes Snapshots. One goroutine at a time may call Look.
type Observer struct {
	Clock     Clock
	Settings  SettingsReader
	Manifests Manifests
	Runtime   RuntimeReader
	Kubelet   KubeletReader
	Units     UnitReader
	// KubeletUnit and RuntimeUnit are unit names such as "kubelet.service".
	KubeletUnit, RuntimeUnit string
	// BusyUnits are units that change the node while they are active.
	BusyUnits []string
	// Paused reads the pause file; nil means never paused.
	Paused func(Instant) string
	// Timeout bounds the sources of one look together.
	Timeout time.Duration
}

// Look asks all sources side by side and joins what they said. It returns
// within the Timeout plus the time to read the manifest directory.
func (o *Observer) Look(ctx context.Context) *Snapshot {
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()

	s := &Snapshot{Taken: o.Clock.Now()}
	s.Host.BootID = o.Clock.BootID()
	if o.Paused != nil {
		s.Host.Paused = o.Paused(s.Taken)
	}
	var kubeletUnit, runtimeUnit Unit
	var busy []string
	var all sync.WaitGroup
	all.Go(func() { s.Runtime = o.Runtime.Runtime(ctx) })
	all.Go(func() { s.Kubelet = o.Kubelet.Kubelet(ctx) })
	all.Go(func() {
		kubeletUnit = o.Units.Unit(ctx, o.KubeletUnit)
		runtimeUnit = o.Units.Unit(ctx, o.RuntimeUnit)
		s.Host.ShuttingDown = o.Units.ShuttingDown(ctx)
		busy = o.busy(ctx)
		// Last, since it may take the rest of the time.
		if kubeletUnit.ActiveState == "inactive" {
			kubeletUnit.LastJob = o.Units.LastJob(ctx, o.KubeletUnit)
		}
	})
	s.Settings = o.Settings.Settings()
	s.Intent = o.Manifests.Read(s.Settings.StaticPodPath, s.Settings.NodeName)
	all.Wait()
	s.Kubelet.Unit, s.Runtime.Unit = kubeletUnit, runtimeUnit
	for _, program := range s.Runtime.Programs {
		busy = append(busy, program+" is running")
	}
	s.Host.Busy = busy
	return s
}

// busy names the units that are changing the node now. One that systemd cannot
// tell of is not: without systemd there is none. Nor is a oneshot service that
// has done its work and stays active.
func (o *Observer) busy(ctx context.Context) []string {
	var busy []string
	for _, name := range o.BusyUnits {
		switch u := o.Units.Unit(ctx, name); {
		case u.ActiveState == "active" && u.SubState == "exited":
		case u.ActiveState == "active", u.ActiveState == "activating", u.ActiveState == "deactivating", u.ActiveState == "reloading":
			busy = append(busy, name+" is "+u.ActiveState)
		}
	}
	return busy
}
