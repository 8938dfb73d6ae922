package process

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// v1Hierarchies are tried in this order for a container's cgroup: the freezer
// also tells frozen, and every runtime puts containers into all of them.
var v1Hierarchies = []string{"freezer", "pids", "name=systemd", "memory", "devices", "cpu"}

// errNoCgroup: the process is in no cgroup that could be judged.
var errNoCgroup = errors.New("in no cgroup of its own")

// cgroup is one directory of a cgroup file system.
type cgroup struct {
	// mount is the root of the hierarchy, dir the path below it with a leading
	// slash.
	mount, dir string
	v2         bool
}

func (c cgroup) path() string { return filepath.Join(c.mount, c.dir) }

// hierarchy returns the mount in which containers are looked for. On a hybrid
// host containers live in the v1 hierarchies; the v2 mount below them is
// systemd's own.
func (h Host) hierarchy() (cgroup, bool) {
	if exists(filepath.Join(h.Cgroup, "cgroup.controllers")) {
		return cgroup{mount: h.Cgroup, v2: true}, true
	}
	for _, name := range v1Hierarchies {
		mount := h.v1Mount(name)
		if exists(filepath.Join(mount, "cgroup.procs")) {
			return cgroup{mount: mount}, true
		}
	}
	return cgroup{}, false
}

func (h Host) v1Mount(controller string) string {
	return filepath.Join(h.Cgroup, strings.TrimPrefix(controller, "name="))
}

// cgroupOf returns the cgroup of a process in the hierarchy that hierarchy
// names. The root cgroup, or one outside the agent's own namespace, is an
// error: neither can be a container's.
func (h Host) cgroupOf(pid int) (cgroup, error) {
	root, ok := h.hierarchy()
	if !ok {
		return cgroup{}, errNoCgroup
	}
	lines, err := os.ReadFile(h.pidFile(pid, "cgroup"))
	if err != nil {
		return cgroup{}, err
	}
	for line := range strings.Lines(string(lines)) {
		controllers, dir, ok := parseMembership(line)
		if !ok || !root.serves(h, controllers) {
			continue
		}
		if dir == "/" || strings.HasPrefix(dir, "/..") {
			return cgroup{}, errNoCgroup
		}
		root.dir = dir
		return root, nil
	}
	return cgroup{}, errNoCgroup
}

// serves tells whether a line of /proc/PID/cgroup is about this hierarchy.
func (c cgroup) serves(h Host, controllers []string) bool {
	for _, name := range controllers {
		if c.v2 && name == "" || !c.v2 && name != "" && h.v1Mount(name) == c.mount {
			return true
		}
	}
	return false
}

// parseMembership reads "ID:CONTROLLER,...:PATH"; the v2 line has no
// controllers. A removed cgroup is marked " (deleted)".
func parseMembership(line string) (controllers []string, dir string, ok bool) {
	parts := strings.SplitN(strings.TrimRight(line, "\n"), ":", 3)
	if len(parts) != 3 {
		return nil, "", false
	}
	return strings.Split(parts[1], ","), strings.TrimSuffix(parts[2], " (deleted)"), true
}

// ofContainer cuts a path off behind the component that names the container,
// so that cgroups which the runtime (crun: "container") or the container's own
// init (systemd: "init.scope") made below it are judged as one. It tells
// whether there is such a component.
func (c cgroup) ofContainer(id, monitor string) (cgroup, bool) {
	at := c.dir
	for at != "/" && at != "." {
		if namesContainer(path.Base(at), id, monitor) {
			c.dir = at
			return c, true
		}
		at = path.Dir(at)
	}
	return c, false
}

// namesContainer tells whether a cgroup's name is that of a container: it
// holds the ID ("ID", "crio-ID", "crio-ID.scope", "cri-containerd-ID.scope"),
// and is not the monitor's ("crio-conmon-ID.scope").
func namesContainer(name, id, monitor string) bool {
	before, _, found := strings.Cut(name, id)
	return found && id != "" && (monitor == "" || !strings.Contains(before, monitor))
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
