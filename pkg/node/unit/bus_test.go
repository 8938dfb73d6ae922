package unit

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestBusThatAcceptsAndIsSilent is what a stopped dbus-daemon looks like.
func TestBusThatAcceptsAndIsSilent(t *testing.T) {
	dir, err := os.MkdirTemp("", "bus")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "bus")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	accepted := make(chan struct{})
	go func() {
		// The connection stays open until the test ends.
		if c, err := listener.Accept(); err == nil {
			t.Cleanup(func() { c.Close() })
			close(accepted)
		}
	}()
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path="+socket)
	ctx, cancel := context.WithCancel(t.Context())
	answer := make(chan error, 1)
	go func() {
		_, err := connect(ctx, systemBus)
		answer <- err
	}()
	<-accepted
	cancel()
	if err := <-answer; err == nil {
		t.Error("connected to a silent bus")
	}
}

func TestNoBusAtAll(t *testing.T) {
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path="+filepath.Join(t.TempDir(), "none"))
	if _, err := connect(t.Context(), systemBus); err == nil {
		t.Error("connected to nothing")
	}
}

// TestRealSystemd reads, and changes nothing.
func TestRealSystemd(t *testing.T) {
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		t.Skip("systemd does not run here (no /run/systemd/system)")
	}
	u := New(slog.New(slog.DiscardHandler))
	t.Cleanup(u.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if down, err := u.ShuttingDown(ctx); down || err != nil {
		t.Errorf("shutting down: %t, error %v", down, err)
	}
	// journald runs wherever systemd does.
	got := u.Unit(ctx, "systemd-journald.service")
	if got.Err != nil || got.LoadState != "loaded" || !got.Up() || got.ProcessStarted == 0 || got.KillMode == "" {
		t.Errorf("%+v", got)
	}
	if got := u.Unit(ctx, "no-such-unit.service"); got.Err != nil || got.LoadState != "not-found" {
		t.Errorf("%+v", got)
	}
}
