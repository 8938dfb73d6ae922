package process

import (
	"strings"
	"time"
)

// startSlack is how much later than CRI's start time a process may seem to
// have begun: both clocks are coarse, and the wall clock may have been slewed.
const startSlack = 10 * time.Second

// stranger tells that a process seen for the first time has only inherited the
// number of a container's dead one: the fault is older than the agent. It
// takes three things together, because each alone can deceive: nothing in the
// path of its cgroup belongs to the container (VM-like runtimes use other
// cgroups), it began after CRI saw the container start (the wall clock may
// have been set since), and no cgroup that is named after the container holds
// anything alive.
func (l *look) stranger(s Subject, stat Stat, group cgroup) bool {
	if related(group.dir, s) || s.StartedAt.IsZero() {
		return false
	}
	now := l.clock.Now()
	began := now.Wall.Add(stat.Started - now.Boot)
	if began.Before(s.StartedAt.Add(startSlack)) {
		return false
	}
	own, found := l.index().dirs[s.ID]
	if !found {
		return l.index().complete
	}
	return l.host.presence(own) == empty
}

// related tells whether a cgroup's path names the container, its sandbox or
// its pod. The systemd cgroup driver writes the dashes of a UID as underscores.
func related(dir string, s Subject) bool {
	for _, name := range []string{s.ID, s.SandboxID, s.PodUID, strings.ReplaceAll(s.PodUID, "-", "_")} {
		if name != "" && strings.Contains(dir, name) {
			return true
		}
	}
	return false
}
