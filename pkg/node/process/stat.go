package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tick is the unit of times in /proc/PID/stat: USER_HZ is 100 on every Linux
// that Go runs on.
const tick = 10 * time.Millisecond

// ErrGone is returned for a PID that no process has.
var ErrGone = errors.New("no such process")

// Stat is what /proc/PID/stat says of a process.
type Stat struct {
	PID int
	// Comm is the name of the program, cut to 15 bytes by the kernel. It may
	// hold anything, also spaces and parentheses.
	Comm string
	// State is the state letter: R, S, D, T, t, Z, X, I.
	State string
	// Parent is its parent's PID. A process whose parent has ended is given to
	// another: to PID 1, or to an ancestor that wants them.
	Parent int
	// Started is when the process began, on the boot clock, to 10 ms. With the
	// PID it identifies a process within one boot.
	Started time.Duration
}

// Dead tells that the process has exited, whether or not anybody has waited.
func (s Stat) Dead() bool { return s.State == "Z" || s.State == "X" || s.State == "x" }

// Stat reads the state of a process. The error is ErrGone if there is none.
func (h Host) Stat(pid int) (Stat, error) {
	if pid <= 0 {
		return Stat{}, fmt.Errorf("process %d: %w", pid, ErrGone)
	}
	line, err := os.ReadFile(h.pidFile(pid, "stat"))
	// A process that ends between open and read gives ESRCH.
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return Stat{}, fmt.Errorf("process %d: %w", pid, ErrGone)
	}
	if err != nil {
		return Stat{}, err
	}
	return ParseStat(line)
}

// ParseStat reads one line of /proc/PID/stat.
func ParseStat(line []byte) (Stat, error) {
	// The name is in parentheses and may hold both of them: the last one ends it.
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 1 || end < open {
		return Stat{}, fmt.Errorf("stat line without a name: %q", line)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(line[:open])))
	if err != nil {
		return Stat{}, fmt.Errorf("stat line: PID: %w", err)
	}
	// Field 3 of proc_pid_stat(5) is the state, field 4 the parent, field 22
	// the start time.
	fields := strings.Fields(string(line[end+1:]))
	if len(fields) < 20 {
		return Stat{}, fmt.Errorf("stat line of process %d is cut short", pid)
	}
	ticks, err := strconv.ParseInt(fields[19], 10, 64)
	if err != nil {
		return Stat{}, fmt.Errorf("stat line of process %d: start time: %w", pid, err)
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return Stat{}, fmt.Errorf("stat line of process %d: parent: %w", pid, err)
	}
	return Stat{
		PID:     pid,
		Comm:    string(line[open+1 : end]),
		State:   fields[0],
		Parent:  parent,
		Started: time.Duration(ticks) * tick,
	}, nil
}

func (h Host) pidFile(pid int, name string) string {
	return h.Proc + "/" + strconv.Itoa(pid) + "/" + name
}
