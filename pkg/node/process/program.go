package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Program is what /proc tells of the program that a process runs, and of the
// place that it runs in.
type Program struct {
	// Path is the program's file, also if it has been replaced or removed
	// since; empty if it may not be read.
	Path string
	// Argv is the command line, Dir the working directory.
	Argv []string
	Dir  string
	// User is the user that it runs as, on this host.
	User int
	// Contained is set for a process of a container: it is in a PID namespace
	// below this one, or in the control group of a pod or container.
	Contained bool
	// Unit is the systemd service whose control group it is in; empty for none.
	Unit string
}

// Named returns the processes with a name that fits, by PID. The kernel cuts
// names to 15 bytes.
func (h Host) Named(fits func(comm string) bool) ([]int, error) {
	proc, err := os.Open(h.Proc)
	if err != nil {
		return nil, err
	}
	defer proc.Close()
	entries, err := proc.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry)
		if err == nil && fits(commOf(int(proc.Fd()), entry)) {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}

// Program reads what a process runs. The error is ErrGone if there is none. The
// kernel makes a reader wait for as long as the process changes its memory map,
// so this is for the few processes that matter.
func (h Host) Program(pid int) (Program, error) {
	var p Program
	status, err := h.read(pid, "status")
	if err != nil {
		return p, err
	}
	if p.User, p.Contained, err = parseStatus(status); err != nil {
		return p, fmt.Errorf("process %d: %w", pid, err)
	}
	line, err := h.read(pid, "cmdline")
	if err != nil {
		return p, err
	}
	p.Argv = arguments(line)
	groups, err := h.read(pid, "cgroup")
	if err != nil {
		return p, err
	}
	// Where process 1 cannot be read, paths count from the root.
	first, _ := h.read(1, "cgroup")
	unit, contained := inGroups(string(groups), string(first))
	p.Unit, p.Contained = unit, p.Contained || contained
	// Both links may be closed to us.
	file, _ := os.Readlink(h.pidFile(pid, "exe"))
	p.Path = strings.TrimSuffix(file, " (deleted)")
	p.Dir, _ = os.Readlink(h.pidFile(pid, "cwd"))
	return p, nil
}

func (h Host) read(pid int, name string) ([]byte, error) {
	data, err := os.ReadFile(h.pidFile(pid, name))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return nil, fmt.Errorf("process %d: %w", pid, ErrGone)
	}
	return data, err
}

// parseStatus reads /proc/PID/status. NSpid has one number for each PID
// namespace from this one downwards (proc_pid_status(5)).
func parseStatus(status []byte) (user int, nested bool, err error) {
	fields := map[string][]string{}
	for line := range strings.Lines(string(status)) {
		key, value, _ := strings.Cut(line, ":")
		fields[key] = strings.Fields(value)
	}
	if len(fields["Uid"]) != 4 {
		return 0, false, errors.New("its status names no user")
	}
	// The second is the effective one.
	user, err = strconv.Atoi(fields["Uid"][1])
	if err != nil {
		return 0, false, fmt.Errorf("its status: user: %w", err)
	}
	return user, len(fields["NSpid"]) > 1, nil
}

// inGroups tells from /proc/PID/cgroup which service a process is in, and
// whether it is in a container. Paths count from where process 1 is: on a host
// that is itself a container, all have the same beginning.
func inGroups(groups, first string) (unit string, contained bool) {
	top := map[string]string{}
	for line := range strings.Lines(first) {
		if controllers, dir, ok := parseMembership(line); ok {
			top[strings.Join(controllers, ",")] = strings.TrimSuffix(strings.TrimSuffix(dir, "/init.scope"), "/")
		}
	}
	for line := range strings.Lines(groups) {
		controllers, dir, ok := parseMembership(line)
		if !ok {
			continue
		}
		below, inside := strings.CutPrefix(dir, top[strings.Join(controllers, ",")]+"/")
		if !inside {
			below = dir
		}
		parts := strings.Split(strings.Trim(path.Clean(below), "/"), "/")
		contained = contained || slices.ContainsFunc(parts, namesPod)
		if unit == "" && (controllers[0] == "" || slices.Contains(controllers, "name=systemd")) {
			unit = serviceOf(parts)
		}
	}
	return unit, contained
}

// namesPod tells whether a control group's name is that of pods, or of a
// container: those of CRI-O, containerd, Docker and Podman end in the ID.
func namesPod(name string) bool {
	return strings.HasPrefix(name, "kubepods") || containerID(name) != ""
}

// serviceOf mirrors systemd src/basic/cgroup-util.c cg_path_get_unit, v252: the
// unit is the first that is no slice; below it the service does as it likes.
func serviceOf(parts []string) string {
	at := slices.IndexFunc(parts, func(part string) bool { return !strings.HasSuffix(part, ".slice") })
	if at < 0 || !strings.HasSuffix(parts[at], ".service") {
		return ""
	}
	return parts[at]
}
