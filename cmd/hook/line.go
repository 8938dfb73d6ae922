package main

import (
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// maxLine bounds what a state or a path can put into the journal.
const maxLine = 2 << 10

// line is the one line that the hook says to the journal. Its methods may be
// called concurrently.
type line struct {
	socket string

	mu   sync.Mutex // guards what follows
	said []string
	sent bool
}

func (l *line) add(err error) {
	if err == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, strings.ReplaceAll(err.Error(), "\n", "; "))
}

// send says it, once, if there is anything to say. It never waits: a journal
// that is down or busy does not hear it. The protocol is journald's native one;
// go-systemd's client would wait.
func (l *line) send() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.said) == 0 || l.sent {
		return
	}
	l.sent = true
	text := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, strings.Join(l.said, "; "))
	text = text[:min(len(text), maxLine)]
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	message := "PRIORITY=4\nSYSLOG_IDENTIFIER=nodekeeper-hook\nMESSAGE=" + text + "\n"
	_ = unix.Sendto(fd, []byte(message), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, &unix.SockaddrUnix{Name: l.socket})
}
