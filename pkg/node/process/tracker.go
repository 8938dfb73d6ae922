package process

import (
	"errors"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// Subject is a container that CRI calls running.
type Subject struct {
	// ID, SandboxID and PodUID are the names that may show in the path of a
	// cgroup that belongs to the container.
	ID, SandboxID, PodUID string
	// PID is its init process in the host's PID namespace.
	PID int
	// StartedAt is CRI's start time; zero if unknown.
	StartedAt time.Time
}

// Tracker follows the processes of running containers from look to look. It
// remembers what it saw first of each container: the start time, so that
// another process with the same number is told apart, and the cgroup, so that
// it can still be judged when the process has gone. One goroutine at a time
// may use it.
type Tracker struct {
	host    Host
	monitor string
	clock   node.Clock
	seen    map[string]*sighting
}

// sighting is what is remembered of one container.
type sighting struct {
	pid     int
	started time.Duration
	// cgroup is nil if the container's cgroup is not known.
	cgroup *cgroup
	// gone is for good: a process does not come back.
	gone bool
	// noCgroup is for good too: the whole tree holds no cgroup of that name.
	noCgroup bool
}

// NewTracker returns a Tracker that has seen nothing. The monitor is the name
// of the container monitor program, whose own cgroups carry container IDs.
func NewTracker(host Host, monitor string, clock node.Clock) *Tracker {
	return &Tracker{host: host, monitor: monitor, clock: clock, seen: map[string]*sighting{}}
}

// Look judges the process behind each subject, by container ID. Containers
// that are not among the subjects are forgotten.
func (t *Tracker) Look(subjects []Subject) map[string]node.Process {
	l := look{Tracker: t}
	processes := make(map[string]node.Process, len(subjects))
	seen := make(map[string]*sighting, len(subjects))
	for _, s := range subjects {
		before := t.seen[s.ID]
		if before == nil || before.pid != s.PID {
			before = l.firstSight(s)
		}
		seen[s.ID] = before
		processes[s.ID] = l.process(s, before)
	}
	t.seen = seen
	return processes
}

// look is one pass over all subjects. It walks the cgroup tree at most once.
type look struct {
	*Tracker
	tree *index
}

// firstSight records the identity and the cgroup of a process that is there.
func (l *look) firstSight(s Subject) *sighting {
	first := &sighting{pid: s.PID}
	stat, err := l.host.Stat(s.PID)
	if err != nil || stat.Dead() {
		return first
	}
	first.started = stat.Started
	group, err := l.host.cgroupOf(s.PID)
	if err != nil {
		return first
	}
	group, named := group.ofContainer(s.ID, l.monitor)
	if !named && l.stranger(s, stat, group) {
		first.gone = true
		return first
	}
	first.cgroup = &group
	return first
}

// process judges a container against what is remembered of it.
func (l *look) process(s Subject, known *sighting) node.Process {
	p := node.Process{PID: s.PID}
	stat, err := l.host.Stat(s.PID)
	switch {
	case known.gone, errors.Is(err, ErrGone):
		p.State = node.ProcessGone
	case err != nil:
		return p
	case known.started == 0 && !stat.Dead():
		// It could not be looked at the first time.
		known.started = stat.Started
		p.State = node.ProcessAlive
	case known.started != 0 && known.started != stat.Started:
		p.State = node.ProcessGone
	case stat.Dead():
		p.State = node.ProcessZombie
	default:
		p.State = node.ProcessAlive
	}
	known.gone = known.gone || p.State == node.ProcessGone
	if p.State != node.ProcessAlive {
		p.CgroupEmpty = l.cgroupEmpty(s, known)
	}
	if known.cgroup != nil {
		p.Frozen = frozen(*known.cgroup)
	}
	return p
}

// cgroupEmpty judges the cgroup of a container whose process is gone. One
// whose process was never seen alive is searched by its name.
func (l *look) cgroupEmpty(s Subject, known *sighting) bool {
	if known.cgroup == nil && !known.noCgroup {
		group, found := l.index().dirs[s.ID]
		if found {
			known.cgroup = &group
		}
		known.noCgroup = !found && l.index().complete
	}
	if known.cgroup == nil {
		return known.noCgroup
	}
	return l.host.presence(*known.cgroup) == empty
}

func (l *look) index() *index {
	if l.tree == nil {
		tree := l.host.index(l.monitor)
		l.tree = &tree
	}
	return l.tree
}
