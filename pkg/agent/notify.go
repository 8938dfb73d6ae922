package agent

import (
	"fmt"
	"strings"
	"time"
)

// manager tells the service manager how the agent is (sd_notify(3)). Its
// methods belong to the loop, but for stopping.
type manager struct {
	send     func(string)
	watchdog time.Duration
	ready    bool
	line     string
}

func newManager(send func(string), watchdog time.Duration) *manager {
	if send == nil {
		send = func(string) {}
	}
	return &manager{send: send, watchdog: watchdog}
}

// looked tells what the last look saw; the first one makes the service ready.
func (m *manager) looked(line string) {
	var parts []string
	if !m.ready {
		m.ready = true
		parts = append(parts, "READY=1")
	}
	if line != m.line {
		m.line = line
		parts = append(parts, "STATUS="+line)
	}
	if len(parts) > 0 {
		m.send(strings.Join(parts, "\n"))
	}
}

// turned tells that the loop has come this far. Only the loop calls it, never
// a timer: a loop that hangs must be seen to hang.
func (m *manager) turned() {
	if m.watchdog > 0 {
		m.send("WATCHDOG=1")
	}
}

// acting gives the loop the time of an act before it counts as hung.
func (m *manager) acting(bound time.Duration) {
	if m.watchdog > 0 {
		m.send(fmt.Sprintf("WATCHDOG_USEC=%d\nWATCHDOG=1", (m.watchdog + bound).Microseconds()))
	}
}

// acted takes that time back.
func (m *manager) acted() {
	if m.watchdog > 0 {
		m.send(fmt.Sprintf("WATCHDOG_USEC=%d\nWATCHDOG=1", m.watchdog.Microseconds()))
	}
}

// stopping tells that the agent ends, after the act in hand if there is one.
// It may be called from another goroutine than the loop's.
func (m *manager) stopping(bound time.Duration) {
	message := "STOPPING=1"
	if bound > 0 {
		message += fmt.Sprintf("\nEXTEND_TIMEOUT_USEC=%d", bound.Microseconds())
	}
	m.send(message)
}
