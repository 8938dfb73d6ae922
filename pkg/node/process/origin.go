package process

import (
	"os"
	"slices"
	"strings"
)

// monitorGroup begins the names of the cgroups that CRI-O makes for its
// monitors: crio-conmon-ID, and crio-conmon-ID.scope where systemd makes them
// (cri-o internal/config/cgmgr MoveConmonToCgroup, v1.34). Podman has the same
// monitor program, in libpod-conmon-ID.
const monitorGroup = "crio-conmon-"

// maxAncestors bounds the way up from a call.
const maxAncestors = 8

// origins tells what the runtime has started from what others have.
type origins struct {
	host          Host
	unit, monitor string
	// outer are the containers that hold the whole node, such as that of a
	// test: every process of the node is in them.
	outer []string
}

func (s Scanner) origins() origins {
	o := origins{host: s.Host, unit: s.Unit, monitor: s.Monitor}
	// Without a word of PID 1 nothing is outside.
	node, _ := o.place(1)
	o.outer = node.containers
	return o
}

// place is what the cgroups of a process say of it.
type place struct {
	// unit: in the runtime's own unit, or below. monitor: in a cgroup that the
	// runtime made for one of its monitors.
	unit, monitor bool
	// containers are the IDs of the containers that it is in.
	containers []string
}

// place reads /proc/PID/cgroup.
func (o origins) place(pid int) (place, error) {
	lines, err := os.ReadFile(o.host.pidFile(pid, "cgroup"))
	if err != nil {
		return place{}, err
	}
	var p place
	for line := range strings.Lines(string(lines)) {
		controllers, dir, ok := parseMembership(line)
		if !ok {
			continue
		}
		// The unit is looked for in systemd's own hierarchy. The others need
		// all of them: with cgroup v1 each may be in some only.
		systemd := controllers[0] == "" || slices.Contains(controllers, "name=systemd")
		for name := range strings.SplitSeq(dir, "/") {
			id := containerID(name)
			switch {
			case name == "":
			case name == o.unit:
				p.unit = p.unit || systemd
			case strings.HasPrefix(name, monitorGroup):
				p.monitor = true
			case namesContainer(name, id, o.monitor) && !slices.Contains(o.outer, id):
				p.containers = append(p.containers, id)
			}
		}
	}
	return p, nil
}

// monitorInUnit tells whether a monitor would end with the runtime's unit, and
// its container with it. The monitor of an exec is no container's: CRI-O leaves
// it in the unit always, for the time of a probe.
func (o origins) monitorInUnit(pid int) bool {
	if p, err := o.place(pid); err != nil || !p.unit || len(p.containers) > 0 {
		return false
	}
	line, err := os.ReadFile(o.host.pidFile(pid, "cmdline"))
	if err != nil {
		return false
	}
	argv := arguments(line)
	return !slices.Contains(argv, "-e") && !slices.Contains(argv, "--exec")
}

// ofRuntime tells whether a process descends from the runtime or from one of
// its monitors, and is not in a container. Programs in a container (a build, an
// engine of its own) descend from a monitor too: the way up is cut where it
// leads through a container.
//
// A process whose parents have gone is not the runtime's. A call in flight
// counts twice: it forbids to restart the kubelet, and it proves that the
// runtime hangs. Neither holds any more: whoever waited for the call has gone,
// so it holds up neither the runtime nor a new kubelet, and to restart the
// runtime would not end it.
func (o origins) ofRuntime(process Stat) bool {
	at, err := o.place(process.PID)
	for range maxAncestors {
		if err != nil || len(at.containers) > 0 || process.Parent <= 1 {
			return false
		}
		if process, err = o.host.Stat(process.Parent); err != nil {
			return false
		}
		at, err = o.place(process.PID)
		if len(at.containers) == 0 && (at.unit || at.monitor) {
			return true
		}
	}
	return false
}
