package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Whatever becomes of the agent, the log is kept and the event is not lost.
func TestAnAgentThatDoesNotAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		agent func(t *testing.T, socket string)
		says  string
	}{
		"absent": {func(*testing.T, string) {}, ""},
		"gone, its socket left behind": {func(t *testing.T, socket string) {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket})
			do(t, err)
			l.SetUnlinkOnClose(false)
			do(t, l.Close())
		}, ""},
		"stopped": {func(t *testing.T, socket string) {
			l, err := net.Listen("unix", socket)
			do(t, err)
			t.Cleanup(func() { _ = l.Close() })
		}, "laid aside"},
		"stopped, its backlog full": {full, "laid aside"},
		"one that hangs up": {func(t *testing.T, socket string) {
			l, err := net.Listen("unix", socket)
			do(t, err)
			t.Cleanup(func() { _ = l.Close() })
			go func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					_ = conn.Close()
				}
			}()
		}, "laid aside"},
		"one that talks nonsense": {func(t *testing.T, socket string) {
			l, err := net.Listen("unix", socket)
			do(t, err)
			t.Cleanup(func() { _ = l.Close() })
			go func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					_, _ = conn.Write([]byte(strings.Repeat("\xfe nonsense", 1000)))
					_ = conn.Close()
				}
			}()
		}, "laid aside"},
		"something else": {func(t *testing.T, socket string) { do(t, os.Mkdir(socket, 0o700)) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			c.agent(t, filepath.Join(s.run, "lifecycle.sock"))
			said := s.start(t, encoded(t, s.state(t, "c1")))
			if !strings.Contains(said, c.says) || (said == "") != (c.says == "") {
				t.Errorf("it said %q, want %q", said, c.says)
			}
			s.live(t, "c1")
			if events := s.spooled(t); len(events) != 1 || events[0].ContainerID != "c1" {
				t.Errorf("spooled %+v", events)
			}
		})
	}
}

// full listens with a backlog of nothing, and fills it.
func full(t *testing.T, socket string) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	do(t, err)
	t.Cleanup(func() { _ = unix.Close(fd) })
	do(t, unix.Bind(fd, &unix.SockaddrUnix{Name: socket}))
	do(t, unix.Listen(fd, 0))
	for {
		peer, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		do(t, err)
		t.Cleanup(func() { _ = unix.Close(peer) })
		if err := unix.Connect(peer, &unix.SockaddrUnix{Name: socket}); err != nil {
			return
		}
	}
}

func TestAFullSpool(t *testing.T) {
	s := newScene(t)
	dir := filepath.Join(s.run, "spool")
	do(t, os.Mkdir(dir, 0o700))
	for i := range 1024 {
		do(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%019d-1-0.event", i)), nil, 0o600))
	}
	said := s.start(t, encoded(t, s.state(t, "c1")))
	if !strings.Contains(said, "the spool is full") {
		t.Errorf("it said %q", said)
	}
	s.live(t, "c1")
	if events, err := filepath.Glob(filepath.Join(dir, "*.event")); err != nil || len(events) != 1024 {
		t.Errorf("%d events, %v", len(events), err)
	}
	if dropped, err := os.Stat(filepath.Join(dir, ".dropped")); err != nil || dropped.Size() != 1 {
		t.Errorf("the event that had no room is not counted: %v, %v", dropped, err)
	}
}

// A journal that does not listen, or is not there, is nothing to wait for.
func TestAJournalThatDoesNotListen(t *testing.T) {
	s := newScene(t)
	do(t, s.journal.SetReadBuffer(1))
	for range 30 { // more than its queue holds
		cmd := s.command()
		cmd.Stdin = strings.NewReader("garbage")
		s.keeps(t, cmd)
	}
	do(t, os.Remove(filepath.Join(s.dir, "journal")))
	cmd := s.command()
	cmd.Stdin = strings.NewReader("garbage")
	s.keeps(t, cmd)
}
