package unit

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/node/process/processtest"
)

func newFake(t *testing.T) (*fakeSystemd, *Units, *processtest.Host) {
	f := &fakeSystemd{
		state:      "running",
		results:    map[string]string{"kubelet.service": "done"},
		jobStarted: make(chan struct{}),
		units: map[string]map[string]any{"kubelet.service": {
			"LoadState": "loaded", "ActiveState": "active", "SubState": "running", "Result": "success",
			"UnitFileState": "enabled", "MainPID": uint32(42), "KillMode": "process",
			"ControlGroup": "/system.slice/kubelet.service", "NRestarts": uint32(14),
			"InactiveEnterTimestampMonotonic": uint64(7_000_001), "Job": []any{uint32(0), dbus.ObjectPath("/")},
		}},
	}
	host := processtest.New(t)
	u := newUnits(slog.New(slog.DiscardHandler), host.Host, f.dial)
	t.Cleanup(u.Close)
	return f, u, host
}

func TestUnit(t *testing.T) {
	f, u, host := newFake(t)
	host.Add(processtest.Process{PID: 42, Comm: "kubelet", State: "T", Started: 90 * time.Second})
	want := node.Unit{
		Name: "kubelet.service", LoadState: "loaded", ActiveState: "active", SubState: "running", Result: "success",
		UnitFileState: "enabled", MainPID: 42, ProcessState: "T", ProcessStarted: 90 * time.Second,
		KillMode: "process", ControlGroup: "/system.slice/kubelet.service", Restarts: 14,
		InactiveSince: 7*time.Second + time.Microsecond,
	}
	got := u.Unit(t.Context(), "kubelet.service")
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got.Up() {
		t.Error("a stopped process counts as up")
	}
	if f.calls != 1 {
		t.Errorf("%d calls, want 1", f.calls)
	}
	f.units["kubelet.service"]["Job"] = []any{uint32(4711), dbus.ObjectPath("/org/freedesktop/systemd1/job/4711")}
	if want.JobPending = true; u.Unit(t.Context(), "kubelet.service") != want {
		t.Error("a job in the queue is not seen")
	}
	if got := u.Unit(t.Context(), "other.service"); got.Err != nil || got.LoadState != "not-found" || got.Up() {
		t.Errorf("unknown unit: %+v", got)
	}
}

func TestUnitWhoseProcessHasJustGone(t *testing.T) {
	_, u, _ := newFake(t)
	if got := u.Unit(t.Context(), "kubelet.service"); got.Err != nil || got.ProcessState != "" || got.ProcessStarted != 0 {
		t.Errorf("%+v", got)
	}
}

func TestWithoutSystemdTheErrorSaysSo(t *testing.T) {
	f, u, _ := newFake(t)
	f.dialErr = errors.New("systemd cannot be reached")
	got := u.Unit(t.Context(), "kubelet.service")
	if got.Err == nil || !strings.Contains(got.Err.Error(), "kubelet.service: systemd cannot be reached") || got.Up() {
		t.Errorf("%+v", got)
	}
	if down, err := u.ShuttingDown(t.Context()); down || err == nil {
		t.Errorf("shutting down: %t, error %v", down, err)
	}
	if err := u.Restart(t.Context(), "kubelet.service"); err == nil {
		t.Error("restarted without systemd")
	}
}

func TestLostConnectionIsMadeAnew(t *testing.T) {
	f, u, _ := newFake(t)
	u.Unit(t.Context(), "kubelet.service")
	// It is known to be lost before the call.
	f.Close()
	if got := u.Unit(t.Context(), "kubelet.service"); got.Err != nil || f.dials != 2 {
		t.Errorf("%v after %d dials", got.Err, f.dials)
	}
	// It is lost under the call.
	f.failNext = errBroken
	if got := u.Unit(t.Context(), "kubelet.service"); got.Err != nil || f.dials != 3 {
		t.Errorf("%v after %d dials", got.Err, f.dials)
	}
	// The bus answers for a systemd that is being executed anew.
	f.failNext = dbus.Error{Name: "org.freedesktop.DBus.Error.NoReply"}
	if got := u.Unit(t.Context(), "kubelet.service"); got.Err != nil || f.dials != 4 {
		t.Errorf("%v after %d dials", got.Err, f.dials)
	}
	// An answer is an answer.
	f.failNext = dbus.Error{Name: "org.freedesktop.DBus.Error.AccessDenied"}
	if got := u.Unit(t.Context(), "kubelet.service"); got.Err == nil || f.dials != 4 {
		t.Errorf("%v after %d dials", got.Err, f.dials)
	}
}

func TestJobsAndSignalsAreNotRepeated(t *testing.T) {
	f, u, _ := newFake(t)
	f.failNext = errBroken
	if err := u.Restart(t.Context(), "kubelet.service"); err == nil || f.calls != 1 {
		t.Errorf("restart: %v after %d calls", err, f.calls)
	}
	f.failNext = errBroken
	if err := u.Kill(t.Context(), "kubelet.service", syscall.SIGKILL); err == nil || f.calls != 2 {
		t.Errorf("kill: %v after %d calls", err, f.calls)
	}
}

func TestActs(t *testing.T) {
	f, u, _ := newFake(t)
	f.results["crio.service"] = "failed"
	f.results["dependent.service"] = "dependency"
	ctx := t.Context()
	if err := errors.Join(
		u.Restart(ctx, "kubelet.service"),
		u.Start(ctx, "kubelet.service"),
		u.ResetFailed(ctx, "kubelet.service"),
		u.Kill(ctx, "kubelet.service", syscall.SIGKILL),
	); err != nil {
		t.Error(err)
	}
	want := []string{"restart kubelet.service", "start kubelet.service", "reset-failed kubelet.service", "kill kubelet.service"}
	if !slices.Equal(f.done, want) {
		t.Errorf("done %v, want %v", f.done, want)
	}
	for name, says := range map[string]string{"crio.service": `systemd says "failed"`, "dependent.service": "requires"} {
		if err := u.Start(ctx, name); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWaitingForAJobEndsWithItsContext(t *testing.T) {
	f, u, _ := newFake(t)
	ctx, cancel := context.WithCancel(t.Context())
	answer := make(chan error, 1)
	go func() { answer <- u.Restart(ctx, "hung.service") }()
	<-f.jobStarted
	cancel()
	if err := <-answer; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestShuttingDown(t *testing.T) {
	nobody := dbus.Error{Name: "org.freedesktop.DBus.Error.ServiceUnknown"}
	tests := map[string]struct {
		state               string
		announced           bool
		stateErr, logindErr error
		want, unknown       bool
	}{
		"running":                      {state: "running"},
		"degraded":                     {state: "degraded"},
		"stopping":                     {state: "stopping", want: true},
		"announced":                    {state: "running", announced: true, want: true},
		"logind cannot be reached":     {state: "running", logindErr: errNoLogind},
		"logind does not run":          {state: "running", logindErr: nobody},
		"logind is silent":             {state: "running", logindErr: context.DeadlineExceeded, unknown: true},
		"stopping, logind is silent":   {state: "stopping", logindErr: context.DeadlineExceeded, want: true},
		"systemd is silent":            {stateErr: context.DeadlineExceeded, unknown: true},
		"systemd is silent, no logind": {stateErr: context.DeadlineExceeded, logindErr: nobody, unknown: true},
		"systemd is silent, announced": {stateErr: context.DeadlineExceeded, announced: true, want: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f, u, _ := newFake(t)
			f.state, f.announced, f.stateErr, f.logindErr = test.state, test.announced, test.stateErr, test.logindErr
			got, err := u.ShuttingDown(t.Context())
			if got != test.want || (err != nil) != test.unknown {
				t.Errorf("got %t, error %v", got, err)
			}
		})
	}
}

func TestDialThatHangsHoldsUpNobodyLonger(t *testing.T) {
	under := make(chan struct{})
	hang := func(ctx context.Context) (systemd, error) {
		close(under)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	u := newUnits(slog.New(slog.DiscardHandler), processtest.New(t).Host, hang)
	first, cancelFirst := context.WithCancel(t.Context())
	answer := make(chan node.Unit, 1)
	go func() { answer <- u.Unit(first, "a.service") }()
	<-under
	second, cancelSecond := context.WithCancel(t.Context())
	cancelSecond()
	if got := u.Unit(second, "b.service"); !errors.Is(got.Err, context.Canceled) {
		t.Errorf("%+v", got)
	}
	cancelFirst()
	if got := <-answer; !errors.Is(got.Err, context.Canceled) {
		t.Errorf("%+v", got)
	}
}
