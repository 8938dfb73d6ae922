package node

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// errDown is for a box that will not come back.
var errDown = errors.New("the box is down")

// supervisor is the process that holds a box: see cmd/supervise.
type supervisor struct {
	command *exec.Cmd
	stdin   io.WriteCloser // its end is the box's end
	nspawn  atomic.Int64   // another one after each reboot
	done    chan struct{}  // closed when the process has ended
	err     error          // set before done is closed
	console string
}

func startSupervisor(program, dir string) (*supervisor, error) {
	s := &supervisor{done: make(chan struct{}), console: filepath.Join(dir, "console.log")}
	console, err := os.Create(s.console)
	if err != nil {
		return nil, err
	}
	defer console.Close()
	s.command = exec.Command(program, dir)
	s.command.Stderr = console
	// Away from the terminal, so that Ctrl-C reaches only the test.
	s.command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if s.stdin, err = s.command.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := s.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.command.Start(); err != nil {
		return nil, err
	}
	go s.watch(stdout)
	return s, nil
}

// watch notes each nspawn that the supervisor names, until the supervisor ends.
func (s *supervisor) watch(stdout io.Reader) {
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if pid, err := strconv.ParseInt(lines.Text(), 10, 64); err == nil {
			s.nspawn.Store(pid)
		}
	}
	s.err = s.command.Wait()
	close(s.done)
}

// stop ends the box and waits for it.
func (s *supervisor) stop() error {
	s.stdin.Close()
	select {
	case <-s.done:
	case <-time.After(30 * time.Second):
		_ = s.command.Process.Kill()
		<-s.done
	}
	if s.err != nil {
		return fmt.Errorf("supervisor of the box: %w: %s", s.err, s.consoleEnd())
	}
	return nil
}

// leader is the process ID, seen from outside, of the box's PID 1. It is
// another one after each reboot.
func (s *supervisor) leader() (int, error) {
	children, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", s.nspawn.Load()))
	for _, file := range children {
		text, _ := os.ReadFile(file)
		for _, word := range strings.Fields(string(text)) {
			pid, err := strconv.Atoi(word)
			if err == nil && isInit(pid) {
				return pid, nil
			}
		}
	}
	select {
	case <-s.done:
		return 0, fmt.Errorf("%w: %s", errDown, s.consoleEnd())
	default:
		return 0, fmt.Errorf("the box has no PID 1 yet")
	}
}

// isInit tells whether the process is PID 1 in a namespace and is systemd by
// now, not nspawn's child that will become it.
func isInit(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	var name, ids string
	for line := range strings.SplitSeq(string(status), "\n") {
		if value, found := strings.CutPrefix(line, "Name:"); found {
			name = strings.TrimSpace(value)
		}
		if value, found := strings.CutPrefix(line, "NSpid:"); found {
			ids = value
		}
	}
	fields := strings.Fields(ids)
	return name == "systemd" && len(fields) > 1 && fields[len(fields)-1] == "1"
}

func (s *supervisor) consoleEnd() string {
	text, _ := os.ReadFile(s.console)
	if len(text) > 1500 {
		text = text[len(text)-1500:]
	}
	return strings.TrimSpace(string(text))
}
