package process

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// commLength is where the kernel cuts the name of a program.
const commLength = 15

// Scanner finds the runtime's container monitors and OCI runtime calls among
// all processes of the node. It keeps nothing between scans and may be used by
// several goroutines.
type Scanner struct {
	Host Host
	// Monitor is the program name of the container monitor ("conmon").
	Monitor string
	// Runtimes are the program names of OCI runtimes ("runc", "crun"). A
	// wrapper of another name is not seen.
	Runtimes []string
	// Programs are names of programs to look out for.
	Programs []string
	// Unit is the runtime's systemd service by its real name ("crio.service").
	Unit string
	// SinceBoot reads the boot clock.
	SinceBoot func() time.Duration
}

// Scan is the result of one pass over all processes.
type Scan struct {
	// MonitorsInUnit is set when at least one container monitor lives in the
	// cgroup of the runtime's own unit, or below it.
	MonitorsInUnit bool
	// Calls are the runtime's OCI runtime processes in flight, by PID.
	Calls []node.RuntimeCall
	// Programs are those of the Scanner's that run, each once, in its order.
	Programs []string
}

// Scan reads the name of every process, and more only of those that matter.
// Processes that come or go meanwhile may be missed. The error is for a proc
// file system that cannot be listed.
func (s Scanner) Scan() (Scan, error) {
	proc, err := os.Open(s.Host.Proc)
	if err != nil {
		return Scan{}, err
	}
	defer proc.Close()
	entries, err := proc.Readdirnames(-1)
	if err != nil {
		return Scan{}, err
	}
	var found Scan
	from := s.origins()
	seen := map[string]bool{}
	for _, entry := range entries {
		if entry[0] < '1' || entry[0] > '9' {
			continue
		}
		comm := commOf(int(proc.Fd()), entry)
		isMonitor, mayBeCall := comm == cut(s.Monitor), s.mayBeCall(comm)
		for _, name := range s.Programs {
			seen[name] = seen[name] || comm == cut(name)
		}
		if !isMonitor && !mayBeCall {
			continue
		}
		pid, err := strconv.Atoi(entry)
		if err != nil {
			continue
		}
		if isMonitor {
			found.MonitorsInUnit = found.MonitorsInUnit || from.monitorInUnit(pid)
		}
		if mayBeCall {
			if call, ok := s.call(pid, from); ok {
				found.Calls = append(found.Calls, call)
			}
		}
	}
	for _, name := range s.Programs {
		if seen[name] {
			found.Programs = append(found.Programs, name)
		}
	}
	slices.SortFunc(found.Calls, func(a, b node.RuntimeCall) int { return a.PID - b.PID })
	return found, nil
}

// mayBeCall tells whether a process of that name can be a call. A runtime
// that has re-executed itself from a sealed copy is called after the file
// descriptor ("6", "exe", "memfd:crun_clon").
func (s Scanner) mayBeCall(comm string) bool {
	for _, name := range s.Runtimes {
		if comm == cut(name) {
			return true
		}
	}
	return comm == "exe" || strings.HasPrefix(comm, "memfd:") || comm != "" && strings.Trim(comm, "0123456789") == ""
}

// commOf reads the name of a process. It is called for every process of the
// node on each look: one buffer on the stack, three system calls.
func commOf(proc int, pid string) string {
	fd, err := unix.Openat(proc, pid+"/comm", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	var name [64]byte
	n, err := unix.Read(fd, name[:])
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(name[:max(n, 0)]), "\n")
}

func cut(name string) string { return name[:min(len(name), commLength)] }
