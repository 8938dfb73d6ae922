package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Manifests reads the manifest directory. It never fails: what went wrong is
// in the Intent.
type Manifests interface {
	Read(dir, nodeName string) Intent
}

// ManifestRules are Manifests that are told before whose rules hold: the
// kubelet's version, or "", and its feature gates as in the Settings.
type ManifestRules interface {
	For(version string)
	Gates(set map[string]bool, all bool)
}

// KubeletIdentity tells which process is the kubelet, and how that works. unit
// is the state of the configured service, or what is known of it.
type KubeletIdentity interface {
	Identify(ctx context.Context, unit Unit) (KubeletProcess, Settings)
}

// RuntimeReader lists sandboxes and containers through CRI, and fills in the
// processes behind the running ones. What went wrong is in Runtime.Err.
type RuntimeReader interface {
	Runtime(ctx context.Context) Runtime
}

// KubeletReader asks the kubelet for its health and its view of its pods, and
// fills in nothing else. An empty address is not asked: then neither Healthy
// nor HealthErr is set.
type KubeletReader interface {
	Kubelet(ctx context.Context, healthzURL string) Kubelet
}

// UnitReader reads the state of services, and of the host's shutdown.
type UnitReader interface {
	// Unit leaves the LastJob empty: that costs more than all the rest.
	Unit(ctx context.Context, name string) Unit
	LastJob(ctx context.Context, name string) Job
	ShuttingDown(ctx context.Context) (bool, error)
}

// Journal reads what a kubelet has told.
type Journal interface {
	Told(ctx context.Context, process KubeletProcess) Told
}

// Images tells which images the runtime has.
type Images interface {
	Images(ctx context.Context, names []string) map[string]Answer
}

// Clock reads both clocks of the node.
type Clock interface {
	Now() Instant
	BootID() string
}

// Observer takes Snapshots. One goroutine at a time may call Look.
type Observer struct {
	Clock     Clock
	Identity  KubeletIdentity
	Manifests Manifests
	Runtime   RuntimeReader
	Kubelet   KubeletReader
	Units     UnitReader
	// Journal and Images are asked only while something is wrong; nil for never.
	Journal Journal
	Images  Images
	// KubeletUnit and RuntimeUnit are unit names such as "kubelet.service". With
	// no KubeletUnit the node has no systemd, and no unit is asked for.
	KubeletUnit, RuntimeUnit string
	// BusyUnits are units that change the node while they are active.
	BusyUnits []string
	// Paused reads the pause file; nil means never paused.
	Paused func(Instant) string
	// Timeout bounds the sources of one look together; Interval is the time
	// between looks.
	Timeout, Interval time.Duration
}

// Look asks all sources side by side and joins what they said. It returns
// within the Timeout plus the time to read the manifest directory.
func (o *Observer) Look(ctx context.Context) *Snapshot {
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	s := &Snapshot{Taken: o.Clock.Now(), Interval: o.Interval}
	s.Host.BootID = o.Clock.BootID()
	if o.Paused != nil {
		s.Host.Paused = o.Paused(s.Taken)
	}
	o.first(ctx, s)
	o.second(ctx, s)
	return s
}

// first asks what each look asks. It leaves a quarter of the time.
func (o *Observer) first(ctx context.Context, s *Snapshot) {
	ctx, cancel := context.WithTimeout(ctx, o.Timeout*3/4)
	defer cancel()
	var kubeletUnit, runtimeUnit Unit
	var elsewhere bool
	var all sync.WaitGroup
	all.Go(func() { s.Runtime = o.Runtime.Runtime(ctx) })
	if o.KubeletUnit != "" {
		all.Go(func() {
			runtimeUnit = o.Units.Unit(ctx, o.RuntimeUnit)
			o.host(ctx, &s.Host)
		})
		kubeletUnit = o.unit(ctx, o.KubeletUnit)
	}
	process, settings := o.Identity.Identify(ctx, kubeletUnit)
	s.Settings = settings
	all.Go(func() { s.Kubelet = o.Kubelet.Kubelet(ctx, settings.HealthzURL) })
	if kubeletUnit.LoadState == "not-found" && process.Unit != "" {
		kubeletUnit, elsewhere = o.unit(ctx, process.Unit), true
	}
	if kubeletUnit.ActiveState == "inactive" {
		// It takes a program, and perhaps the rest of the time.
		all.Go(func() { kubeletUnit.LastJob = o.Units.LastJob(ctx, kubeletUnit.Name) })
	}
	s.Intent = o.intent(settings)
	all.Wait()
	s.Kubelet.Process, s.Kubelet.Unit, s.Kubelet.Elsewhere, s.Runtime.Unit = process, kubeletUnit, elsewhere, runtimeUnit
	for _, program := range s.Runtime.Programs {
		s.Host.Busy = append(s.Host.Busy, program+" is running")
	}
}

// unit asks for a service that others wait for: a systemd that is silent must
// not take their time.
func (o *Observer) unit(ctx context.Context, name string) Unit {
	ctx, cancel := context.WithTimeout(ctx, o.Timeout/4)
	defer cancel()
	return o.Units.Unit(ctx, name)
}

// host asks what else goes on. What does not answer is in the Err: only a unit
// that is not there is known not to be active. A oneshot service that has done
// its work and stays active is not busy.
func (o *Observer) host(ctx context.Context, h *Host) {
	var err error
	if h.ShuttingDown, err = o.Units.ShuttingDown(ctx); err != nil {
		h.Err = err
	}
	for _, name := range o.BusyUnits {
		switch u := o.Units.Unit(ctx, name); {
		case u.Err != nil && h.Err != nil:
			h.Err = fmt.Errorf("%w; %w", h.Err, u.Err)
		case u.Err != nil:
			h.Err = u.Err
		case u.ActiveState == "active" && u.SubState == "exited":
		case u.ActiveState == "active", u.ActiveState == "activating", u.ActiveState == "deactivating", u.ActiveState == "reloading":
			h.Busy = append(h.Busy, name+" is "+u.ActiveState)
		}
	}
}

// intent reads the manifests. Without the node's name and the directory there
// is none: another's would be taken for it.
func (o *Observer) intent(s Settings) Intent {
	switch {
	case s.NodeName == "":
		return unread(s, s.NodeNameErr)
	case s.StaticPodPathErr != nil:
		return unread(s, s.StaticPodPathErr)
	}
	if rules, ok := o.Manifests.(ManifestRules); ok {
		rules.For(s.Version)
		rules.Gates(s.FeatureGates, s.AllFeatureGates)
	}
	return o.Manifests.Read(s.StaticPodPath, s.NodeName)
}

func unread(s Settings, why error) Intent {
	if why == nil {
		why = errors.New("the node's name is not known")
	}
	return Intent{Dir: s.StaticPodPath, Err: fmt.Errorf("the manifests are not read: %w", why)}
}

// second asks, side by side, what only matters where something is wrong.
func (o *Observer) second(ctx context.Context, s *Snapshot) {
	missing := s.missing()
	var both sync.WaitGroup
	if o.Journal != nil && (len(missing) > 0 || len(s.Intent.Problems) > 0 || !s.Kubelet.answers()) {
		both.Go(func() { s.Kubelet.Told = o.Journal.Told(ctx, s.Kubelet.Process) })
	}
	if o.Images != nil && len(missing) > 0 && s.Runtime.Err == nil {
		both.Go(func() { s.Runtime.Images = o.Images.Images(ctx, missing) })
	}
	both.Wait()
}

// answers tells that the kubelet has just answered one of the questions.
func (k Kubelet) answers() bool { return k.Healthy || k.View.Known() || k.View.Answered }

// missing are the images of the containers of manifests that should run and do
// not, each once, and those that the ones which are down were made from. An init
// container that ends counts where its pod lacks another.
func (s *Snapshot) missing() []string {
	var images []string
	for _, m := range s.Intent.Pods {
		if m.Pod == nil {
			continue
		}
		before := len(images)
		for _, c := range m.Pod.Spec.Containers {
			if !s.runs(m, c.Name) {
				images = append(images, c.Image)
			}
		}
		if len(images) > before {
			images = append(images, s.imagesDown(m.Name)...)
		}
		for _, c := range m.Pod.Spec.InitContainers {
			sidecar := c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
			if (sidecar || len(images) > before) && !s.runs(m, c.Name) {
				images = append(images, c.Image)
			}
		}
	}
	slices.Sort(images)
	return slices.Compact(images)
}

// imagesDown are those of the pod's records that are down.
func (s *Snapshot) imagesDown(pod PodName) []string {
	var images []string
	for _, sandbox := range s.Runtime.Of(pod) {
		for i := range sandbox.Containers {
			c := &sandbox.Containers[i]
			if newest, _ := sandbox.Newest(c.Name); newest.ID == c.ID && c.State != ContainerRunning && c.Image != "" {
				images = append(images, c.Image)
			}
		}
	}
	return images
}

// runs tells that a container runs, or has ended and its manifest says that it
// stays so.
func (s *Snapshot) runs(m Manifest, container string) bool {
	for _, sandbox := range s.Runtime.Of(m.Name) {
		c, found := sandbox.Newest(container)
		policy := m.Pod.Spec.RestartPolicy
		switch {
		case !found:
		case c.State == ContainerRunning && !c.Process.Dead():
			return true
		case c.State == ContainerExited && (policy == corev1.RestartPolicyNever || policy == corev1.RestartPolicyOnFailure && c.ExitCode == 0 && !c.StatusUnknown):
			return true
		}
	}
	return false
}
