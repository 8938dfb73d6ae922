package unit

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/nodekeeper/nodekeeper/pkg/node/process"
)

// stand is systemd's and logind's part on a bus of the test's own.
type stand struct {
	conn    *dbus.Conn
	signals chan int32
}

const manager = "org.freedesktop.systemd1.Manager"

// RestartUnit is a method on D-Bus. The job is done once it has been answered.
func (s *stand) RestartUnit(name, _ string) (dbus.ObjectPath, *dbus.Error) {
	if name == "missing.service" {
		return "", dbus.NewError("org.freedesktop.systemd1.NoSuchUnit", []any{"Unit missing.service not found."})
	}
	job := dbus.ObjectPath("/org/freedesktop/systemd1/job/7")
	err := s.conn.Emit("/org/freedesktop/systemd1", manager+".JobRemoved", uint32(7), job, name, "done")
	if err != nil {
		return "", dbus.MakeFailedError(err)
	}
	return job, nil
}

// KillUnit is a method on D-Bus.
func (s *stand) KillUnit(_, who string, signal int32) *dbus.Error {
	if who == "main" {
		s.signals <- signal
	}
	return nil
}

// properties is the Properties interface of one object.
type objectProperties map[string]any

// GetAll is a method on D-Bus.
func (p objectProperties) GetAll(string) (map[string]dbus.Variant, *dbus.Error) {
	all := map[string]dbus.Variant{}
	for name, value := range p {
		all[name] = dbus.MakeVariant(value)
	}
	return all, nil
}

// Get is a method on D-Bus.
func (p objectProperties) Get(_, name string) (dbus.Variant, *dbus.Error) {
	return dbus.MakeVariant(p[name]), nil
}

// startBus runs a bus daemon and puts a stand of systemd on it.
func startBus(t *testing.T) *stand {
	t.Helper()
	program, err := exec.LookPath("dbus-daemon")
	if err != nil {
		t.Skip("no dbus-daemon here: the real D-Bus code is tested in the node in a box alone")
	}
	daemon := exec.Command(program, "--session", "--nofork", "--nopidfile", "--print-address")
	out, err := daemon.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = daemon.Process.Kill()
		_ = daemon.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", strings.TrimSpace(address))
	s := &stand{signals: make(chan int32, 1)}
	s.conn, err = systemBus(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.conn.Close() })
	const props = "org.freedesktop.DBus.Properties"
	for _, e := range []error{
		s.conn.Export(s, "/org/freedesktop/systemd1", manager),
		s.conn.Export(objectProperties{"SystemState": "running"}, "/org/freedesktop/systemd1", props),
		s.conn.Export(objectProperties{
			"LoadState": "loaded", "ActiveState": "active", "KillMode": "process", "NRestarts": uint32(3), "MainPID": uint32(1),
			"Job": struct {
				Number uint32
				Path   dbus.ObjectPath
			}{7, "/org/freedesktop/systemd1/job/7"},
		}, "/org/freedesktop/systemd1/unit/crio_2eservice", props),
		s.own("org.freedesktop.systemd1"),
	} {
		if e != nil {
			t.Fatal(e)
		}
	}
	return s
}

func (s *stand) own(name string) error {
	reply, err := s.conn.RequestName(name, dbus.NameFlagDoNotQueue)
	if err == nil && reply != dbus.RequestNameReplyPrimaryOwner {
		err = fmt.Errorf("name %s is taken", name)
	}
	return err
}

func TestOverARealBus(t *testing.T) {
	s := startBus(t)
	u := newUnits(slog.New(slog.DiscardHandler), process.ThisHost(), dialSystemd)
	t.Cleanup(u.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()

	got := u.Unit(ctx, "crio.service")
	if got.Err != nil || got.ActiveState != "active" || got.KillMode != "process" || got.Restarts != 3 || got.ProcessState == "" || !got.JobPending {
		t.Errorf("%+v", got)
	}
	if err := u.Restart(ctx, "crio.service"); err != nil {
		t.Error(err)
	}
	if err := u.Restart(ctx, "missing.service"); err == nil || !strings.Contains(err.Error(), "restart missing.service: Unit missing.service not found") {
		t.Errorf("error %v", err)
	}
	if err := u.Kill(ctx, "crio.service", syscall.SIGUSR1); err != nil || <-s.signals != int32(syscall.SIGUSR1) {
		t.Error(err)
	}

	if down, err := u.ShuttingDown(ctx); down || err != nil {
		t.Errorf("without logind: shutting down %t, error %v", down, err)
	}
	logind := objectProperties{"PreparingForShutdown": true}
	if err := s.conn.Export(logind, "/org/freedesktop/login1", "org.freedesktop.DBus.Properties"); err != nil {
		t.Fatal(err)
	}
	if err := s.own("org.freedesktop.login1"); err != nil {
		t.Fatal(err)
	}
	if down, err := u.ShuttingDown(ctx); !down || err != nil {
		t.Errorf("announced: shutting down %t, error %v", down, err)
	}
}

func TestConnectionToARealBusOutlivesTheCallThatMadeIt(t *testing.T) {
	startBus(t)
	dials := 0
	u := newUnits(slog.New(slog.DiscardHandler), process.ThisHost(), func(ctx context.Context) (systemd, error) {
		dials++
		return dialSystemd(ctx)
	})
	t.Cleanup(u.Close)
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if got := u.Unit(ctx, "crio.service"); got.Err != nil {
			t.Error(got.Err)
		}
		cancel()
	}
	if dials != 1 {
		t.Errorf("%d connections for three calls", dials)
	}
	u.Close()
	if got := u.Unit(t.Context(), "crio.service"); got.Err != nil || dials != 2 {
		t.Errorf("after the loss: %v, %d connections", got.Err, dials)
	}
}
