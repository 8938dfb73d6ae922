package server

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/lifecycle"
)

// agent serves at a socket; its handler can be held up.
type agent struct {
	socket string
	hold   sync.Mutex
	mu     sync.Mutex // guards events
	events []lifecycle.Event
	end    func() error
}

func start(t *testing.T, bounds bounds) *agent {
	t.Helper()
	a := &agent{socket: filepath.Join(t.TempDir(), "lifecycle.sock")}
	listener, err := Listen(a.socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- serve(ctx, listener, a.handle, slog.New(slog.DiscardHandler), bounds)
	}()
	a.end = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(20 * time.Second):
			return errors.New("the server does not end")
		}
	})
	t.Cleanup(func() {
		if err := a.end(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func (a *agent) handle(e lifecycle.Event) {
	a.hold.Lock()
	defer a.hold.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.events = append(a.events, e)
}

func (a *agent) seen() []lifecycle.Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]lifecycle.Event(nil), a.events...)
}

func (a *agent) report(t *testing.T, id string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return lifecycle.Report(ctx, a.socket, lifecycle.Event{Kind: lifecycle.Created, ContainerID: id})
}

func TestEventsArriveInOrder(t *testing.T) {
	a := start(t, ordinary)
	for i := range 20 {
		if err := a.report(t, fmt.Sprint("c", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.end(); err != nil {
		t.Fatal(err)
	}
	seen := a.seen()
	if len(seen) != 20 {
		t.Fatalf("%d events", len(seen))
	}
	for i, e := range seen {
		if e.ContainerID != fmt.Sprint("c", i) {
			t.Errorf("event %d is of %s", i, e.ContainerID)
		}
	}
}

func TestABusyAgentNeverMakesAReporterWait(t *testing.T) {
	b := ordinary
	b.queue = 2
	a := start(t, b)
	a.hold.Lock()
	taken, refused := 0, 0
	for i := range 6 {
		switch err := a.report(t, fmt.Sprint("c", i)); {
		case err == nil:
			taken++
		case strings.Contains(err.Error(), "busy"):
			refused++
		default:
			t.Error(err)
		}
	}
	a.hold.Unlock()
	if refused == 0 {
		t.Error("nothing was refused")
	}
	if err := a.end(); err != nil {
		t.Fatal(err)
	}
	if seen := len(a.seen()); seen != taken {
		t.Errorf("%d events were taken, %d handled", taken, seen)
	}
}

func TestAnEventThatSaysNothingIsRefused(t *testing.T) {
	a := start(t, ordinary)
	if err := a.report(t, ""); err == nil {
		t.Error("taken")
	}
	if err := a.report(t, "c1"); err != nil {
		t.Error(err)
	}
}

func TestSilentPeersLoseTheirPlace(t *testing.T) {
	b := ordinary
	b.connections, b.time = 2, 2*time.Second // a busy machine is not to be late for it
	a := start(t, b)
	for range b.connections {
		conn, err := net.Dial("unix", a.socket)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	// Given that both places are taken, when their time is up, then others
	// come in.
	deadline := time.Now().Add(20 * time.Second)
	turnedAway := false
	for {
		err := a.report(t, "c1")
		if err == nil {
			break
		}
		turnedAway = true
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	if !turnedAway {
		t.Error("more connections than the bound")
	}
}

func TestAnOversizedMessageEndsTheConnection(t *testing.T) {
	for name, message := range map[string][]byte{
		"announced":      header(uint32(ordinary.message)+1, nil),
		"after a little": append(header(3, []byte("abc")), header(1<<31, nil)...),
		"garbage":        []byte(strings.Repeat("\xff", 100)),
	} {
		t.Run(name, func(t *testing.T) {
			a := start(t, ordinary)
			conn, err := net.Dial("unix", a.socket)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Write(message); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			_, _ = io.Copy(io.Discard, conn)
			if took := time.Since(began); took > ordinary.time/2 {
				t.Errorf("the connection ended only after %v", took)
			}
			if err := a.report(t, "c1"); err != nil {
				t.Errorf("the next one: %v", err)
			}
		})
	}
}

func header(length uint32, body []byte) []byte {
	h := binary.BigEndian.AppendUint32(nil, length)
	h = binary.BigEndian.AppendUint32(h, 1)
	return append(append(h, 1, 0), body...)
}

func TestManyReportersAtOnce(t *testing.T) {
	a := start(t, ordinary)
	var all sync.WaitGroup
	errs := make(chan error, 100)
	for i := range cap(errs) {
		all.Go(func() { errs <- a.report(t, fmt.Sprint("c", i)) })
	}
	all.Wait()
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func TestReportKeepsItsDeadline(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for name, path := range map[string]string{"nobody accepts": socket, "nobody listens": socket + "2"} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		began := time.Now()
		err := lifecycle.Report(ctx, path, lifecycle.Event{Kind: lifecycle.Created, ContainerID: "c1"})
		if took := time.Since(began); err == nil || took > 5*time.Second {
			t.Errorf("%s: %v after %v", name, err, took)
		}
		cancel()
	}
}
