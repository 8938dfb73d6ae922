package cri_test

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/node/cri"
	"github.com/nodekeeper/nodekeeper/pkg/node/process/processtest"
)

// stalled is a runtime that is stopped: the kernel takes the connections, and
// nobody reads them.
func stalled(t *testing.T) (socket string, listener *net.UnixListener) {
	t.Helper()
	dir, err := os.MkdirTemp("", "cri")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket = filepath.Join(dir, "crio.sock")
	listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: socket})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return socket, listener
}

// silentRig is a Reader of whatever is at a socket.
func silentRig(t *testing.T, socket string) (*rig, *cri.Client) {
	t.Helper()
	client := newClient(t, socket)
	r := &rig{host: processtest.New(t), clock: &handClock{now: node.Instant{Wall: time.Unix(1_800_000_000, 0), Boot: time.Hour}}}
	r.reader = cri.NewReader(client, cri.Options{Host: r.host.Host, Clock: r.clock, Unit: "crio.service", Monitor: "conmon"})
	return r, client
}

// silent looks in vain, some time after the last look.
func (r *rig) silent(t *testing.T, after time.Duration) time.Duration {
	t.Helper()
	r.clock.pass(after)
	got := r.reader.Runtime(within(t, 50*time.Millisecond))
	if got.Err == nil {
		t.Fatal("a list from a silent runtime")
	}
	return got.Silent
}

func TestStoppedRuntimeIsSilent(t *testing.T) {
	socket, listener := stalled(t)
	r, client := silentRig(t, socket)
	before := runtime.NumGoroutine()
	var most int
	for look := range 12 {
		if got, want := r.silent(t, 5*time.Second), time.Duration(look)*5*time.Second; got != want {
			t.Fatalf("look %d: silent for %v, want %v", look, got, want)
		}
		most = max(most, runtime.NumGoroutine())
	}
	if most-before > 12 {
		t.Errorf("%d goroutines more than before", most-before)
	}

	// When it is closed, nothing is left.
	_ = client.Close()
	eventually(t, "all goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
	if got := r.silent(t, 5*time.Second); got != time.Minute {
		t.Errorf("silent for %v after the close", got)
	}
	connections := 0
	for {
		if err := listener.SetDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		conn, err := listener.Accept()
		if err != nil {
			break
		}
		connections++
		_ = conn.Close()
	}
	if connections > 4 {
		t.Errorf("%d connections wait in the queue of the runtime", connections)
	}
}

func TestMissingRuntimeIsSilent(t *testing.T) {
	r := newRig(t)
	r.look(t)
	r.runtime.Down()
	for look := range 4 {
		if got, want := r.silent(t, time.Minute), time.Duration(look)*time.Minute; got != want {
			t.Errorf("look %d: silent for %v, want %v", look, got, want)
		}
	}
	r.runtime.Up()
	if got := r.look(t); got.Silent != 0 {
		t.Errorf("silent for %v although it answers", got.Silent)
	}
	r.runtime.Down()
	if got := r.silent(t, time.Minute); got != 0 {
		t.Errorf("a new silence begins with %v", got)
	}
}

func TestRuntimeThatAnswersSomethingIsNotSilent(t *testing.T) {
	tests := map[string]func(r *rig){
		"slow lists":                   func(*rig) {},
		"an error":                     func(r *rig) { r.runtime.Fail("Version", "", status.Error(codes.Internal, "no")) },
		"an error that gRPC makes too": func(r *rig) { r.runtime.Fail("Version", "", status.Error(codes.Unavailable, "shutting down")) },
		"a refusal":                    func(r *rig) { r.runtime.Fail("Version", "", status.Error(codes.PermissionDenied, "no")) },
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.runtime.Hold("ListPodSandbox", "")
			prepare(r)
			r.silent(t, 0)
			// The probe has been answered when a silence begins anew.
			eventually(t, "the silence ends", func() bool { return r.silent(t, time.Minute) == 0 })
		})
	}
}

func TestRuntimeWhoseHandlersHangIsSilent(t *testing.T) {
	r := newRig(t)
	r.runtime.Hold("ListPodSandbox", "")
	release := r.runtime.Hold("Version", "")
	for look := range 4 {
		if got, want := r.silent(t, time.Minute), time.Duration(look)*time.Minute; got != want {
			t.Errorf("look %d: silent for %v, want %v", look, got, want)
		}
	}
	if got := r.runtime.Calls("Version"); got != 1 {
		t.Errorf("%d probes at a time", got)
	}
	release()
	eventually(t, "a late answer ends the silence", func() bool { return r.silent(t, time.Second) == 0 })
}

func TestWhatKeepsUsFromAskingIsNotTheRuntimesSilence(t *testing.T) {
	// A file where the socket should be: not a matter of the runtime's health.
	socket := filepath.Join(t.TempDir(), "file", "crio.sock")
	if err := os.WriteFile(filepath.Dir(socket), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r, _ := silentRig(t, socket)
	r.silent(t, 0)
	eventually(t, "no silence", func() bool { return r.silent(t, time.Minute) == 0 })
	got := r.reader.Runtime(within(t, time.Second))
	if got.Err == nil || !strings.Contains(got.Err.Error(), "the runtime is not at fault") {
		t.Errorf("error %v", got.Err)
	}
}
