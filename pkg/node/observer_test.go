package node

import (
	"context"
	"slices"
	"testing"
	"time"
)

// still is a node on which nothing happens but what its fields say.
type still struct {
	units    map[string]Unit
	programs []string
}

func (still) Now() Instant                            { return Instant{} }
func (still) BootID() string                          { return "boot" }
func (still) Settings() Settings                      { return Settings{} }
func (still) Read(string, string) Intent              { return Intent{} }
func (s still) Runtime(context.Context) Runtime       { return Runtime{Programs: s.programs} }
func (still) Kubelet(context.Context) Kubelet         { return Kubelet{} }
func (still) ShuttingDown(context.Context) bool       { return false }
func (s still) Unit(_ context.Context, n string) Unit { return s.units[n] }
func (still) LastJob(_ context.Context, n string) Job { return Job{Type: "stop", Result: n} }

// It is asked for only where it decides something: it takes a program.
func TestTheLastJobIsThatOfAKubeletThatIsDown(t *testing.T) {
	for state, want := range map[string]Job{
		"inactive": {Type: "stop", Result: "k.service"}, "active": {}, "failed": {}, "": {},
	} {
		is := still{units: map[string]Unit{"k.service": {ActiveState: state}, "r.service": {ActiveState: state}}}
		o := &Observer{Clock: is, Settings: is, Manifests: is, Runtime: is, Kubelet: is, Units: is,
			KubeletUnit: "k.service", RuntimeUnit: "r.service", Timeout: time.Second}
		s := o.Look(context.Background())
		if s.Kubelet.Unit.LastJob != want || s.Runtime.Unit.LastJob != (Job{}) {
			t.Errorf("%q: kubelet %+v, runtime %+v", state, s.Kubelet.Unit.LastJob, s.Runtime.Unit.LastJob)
		}
	}
}

func TestANodeIsBusyWhileSomethingElseChangesIt(t *testing.T) {
	for name, is := range map[string]struct {
		still
		want []string
	}{
		"nothing":             {still{}, nil},
		"a unit":              {still{units: map[string]Unit{"a.service": {ActiveState: "active", SubState: "running"}}}, []string{"a.service is active"}},
		"a unit that begins":  {still{units: map[string]Unit{"a.service": {ActiveState: "activating"}}}, []string{"a.service is activating"}},
		"a unit that is done": {still{units: map[string]Unit{"a.service": {ActiveState: "active", SubState: "exited"}}}, nil},
		"another unit":        {still{units: map[string]Unit{"b.service": {ActiveState: "active"}}}, nil},
		"a program":           {still{programs: []string{"cluster-restore.sh"}}, []string{"cluster-restore.sh is running"}},
	} {
		o := &Observer{Clock: is, Settings: is, Manifests: is, Runtime: is.still, Kubelet: is.still, Units: is.still,
			BusyUnits: []string{"a.service"}, Timeout: time.Second}
		if got := o.Look(context.Background()).Host.Busy; !slices.Equal(got, is.want) {
			t.Errorf("%s: %q, want %q", name, got, is.want)
		}
	}
}
