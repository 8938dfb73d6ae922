package process_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/node/process"
	"github.com/nodekeeper/nodekeeper/pkg/node/process/processtest"
)

func itoa(n int) string { return strconv.Itoa(n) }

// fixedClock stands at one instant.
type fixedClock struct{ now node.Instant }

func (c fixedClock) Now() node.Instant { return c.now }
func (c fixedClock) BootID() string    { return "boot" }

// wall is the time at boot + 1000 s.
var (
	wall  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	fixed = fixedClock{node.Instant{Wall: wall, Boot: 1000 * time.Second}}
)

var (
	id    = strings.Repeat("ab", 32)
	group = "/kubepods.slice/kubepods-pod1.slice/crio-" + id + ".scope"
)

// hosts runs a test on both kinds of cgroups.
func hosts(t *testing.T, test func(t *testing.T, h *processtest.Host)) {
	t.Run("v1", func(t *testing.T) { test(t, processtest.NewV1(t)) })
	t.Run("v2", func(t *testing.T) { test(t, processtest.New(t)) })
}

func newLook(h *processtest.Host, subject process.Subject) func() node.Process {
	tracker := process.NewTracker(h.Host, "conmon", fixed)
	return func() node.Process { return tracker.Look([]process.Subject{subject})[subject.ID] }
}

func TestProcessAliveThenGone(t *testing.T) {
	hosts(t, func(t *testing.T, h *processtest.Host) {
		look := newLook(h, process.Subject{ID: id, PID: 42})
		h.Add(processtest.Process{PID: 42, Comm: "etcd", Started: 5 * time.Second, Cgroup: group})
		h.Add(processtest.Process{PID: 43, Comm: "child", Started: 6 * time.Second, Cgroup: group + "/below"})
		h.SetCgroup(group, 42)
		if got := look(); got.State != node.ProcessAlive || got.Frozen || got.Dead() {
			t.Fatalf("alive: %+v", got)
		}

		// The init has gone, and a child of it lives on.
		h.Remove(42)
		h.SetCgroup(group, 43)
		if got := look(); got.State != node.ProcessGone || got.CgroupEmpty || got.Dead() {
			t.Errorf("child left behind: %+v", got)
		}

		// The child has gone too.
		h.Remove(43)
		h.SetCgroup(group)
		if got := look(); !got.Dead() {
			t.Errorf("empty cgroup: %+v", got)
		}
		h.RemoveCgroup(group)
		if got := look(); !got.Dead() {
			t.Errorf("removed cgroup: %+v", got)
		}
	})
}

func TestProcessNumberTakenByAnother(t *testing.T) {
	hosts(t, func(t *testing.T, h *processtest.Host) {
		look := newLook(h, process.Subject{ID: id, PID: 42})
		h.Add(processtest.Process{PID: 42, Comm: "etcd", Started: 5 * time.Second, Cgroup: group})
		look()
		h.RemoveCgroup(group)
		h.Add(processtest.Process{PID: 42, Comm: "bash", Started: 900 * time.Second, Cgroup: "/user.slice"})
		if got := look(); !got.Dead() || got.State != node.ProcessGone {
			t.Errorf("reused number: %+v", got)
		}
		// For good, even if the other one had the same start time.
		h.Add(processtest.Process{PID: 42, Comm: "bash", Started: 5 * time.Second, Cgroup: "/user.slice"})
		if got := look(); got.State != node.ProcessGone {
			t.Errorf("came back from the dead: %+v", got)
		}
	})
}

func TestZombieIsDeadOnceItsCgroupIsEmpty(t *testing.T) {
	hosts(t, func(t *testing.T, h *processtest.Host) {
		look := newLook(h, process.Subject{ID: id, PID: 42})
		h.Add(processtest.Process{PID: 42, Comm: "etcd", Started: 5 * time.Second, Cgroup: group})
		look()
		h.Add(processtest.Process{PID: 42, Comm: "etcd", State: "Z", Started: 5 * time.Second, Cgroup: "/"})
		h.SetCgroup(group)
		if got := look(); got.State != node.ProcessZombie || !got.Dead() {
			t.Errorf("zombie: %+v", got)
		}
	})
}

func TestV1CgroupThatListsAZombieIsEmpty(t *testing.T) {
	h := processtest.NewV1(t)
	look := newLook(h, process.Subject{ID: id, PID: 42})
	h.Add(processtest.Process{PID: 42, Comm: "etcd", State: "Z", Started: 5 * time.Second, Cgroup: group})
	if got := look(); !got.Dead() {
		t.Errorf("only a zombie is listed: %+v", got)
	}
	// A process of another PID namespace shows as 0: somebody is there.
	h.SetCgroup(group, 0)
	if got := look(); got.Dead() {
		t.Errorf("somebody unseen is listed: %+v", got)
	}
}

func TestDeadAtFirstSight(t *testing.T) {
	tests := map[string]struct {
		prepare func(h *processtest.Host)
		empty   bool
	}{
		"no cgroup":              {func(*processtest.Host) {}, true},
		"empty cgroup":           {func(h *processtest.Host) { h.SetCgroup(group) }, true},
		"only the monitor's":     {func(h *processtest.Host) { add(h, 50, "/kubepods.slice/crio-conmon-"+id+".scope") }, true},
		"child in the cgroup":    {func(h *processtest.Host) { add(h, 50, group) }, false},
		"containerd's name":      {func(h *processtest.Host) { add(h, 50, "/k/pod1/cri-containerd-"+id+".scope") }, false},
		"plain name":             {func(h *processtest.Host) { add(h, 50, "/kubepods/burstable/pod1/"+id) }, false},
		"another container only": {func(h *processtest.Host) { add(h, 50, "/kubepods/pod1/"+strings.Repeat("cd", 32)) }, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			hosts(t, func(t *testing.T, h *processtest.Host) {
				test.prepare(h)
				look := newLook(h, process.Subject{ID: id, PID: 42})
				for range 2 {
					if got := look(); got.State != node.ProcessGone || got.CgroupEmpty != test.empty {
						t.Errorf("%+v; want gone, empty %t", got, test.empty)
					}
				}
			})
		})
	}
}

func add(h *processtest.Host, pid int, group string) {
	h.Add(processtest.Process{PID: pid, Comm: "x", Started: time.Second, Cgroup: group})
}

func TestWithoutCgroupTreeNothingIsEmpty(t *testing.T) {
	h := processtest.New(t)
	h.Cgroup += "-not-there"
	look := newLook(h, process.Subject{ID: id, PID: 42})
	if got := look(); got.State != node.ProcessGone || got.CgroupEmpty {
		t.Errorf("%+v", got)
	}
}

func TestNumberTakenBeforeFirstSight(t *testing.T) {
	started := wall.Add(-900 * time.Second) // at boot + 100 s
	late, early := 500*time.Second, 99*time.Second
	tests := map[string]struct {
		now    processtest.Process
		others func(h *processtest.Host)
		want   node.ProcessState
	}{
		"late and elsewhere":       {processtest.Process{Started: late, Cgroup: "/user.slice"}, nil, node.ProcessGone},
		"early and elsewhere":      {processtest.Process{Started: early, Cgroup: "/kata/vm"}, nil, node.ProcessAlive},
		"late, in the pod":         {processtest.Process{Started: late, Cgroup: "/kubepods/pod0a_1b/vm"}, nil, node.ProcessAlive},
		"late, in its own cgroup":  {processtest.Process{Started: late, Cgroup: group}, nil, node.ProcessAlive},
		"late, own cgroup is full": {processtest.Process{Started: late, Cgroup: "/user.slice"}, func(h *processtest.Host) { add(h, 50, group) }, node.ProcessAlive},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := processtest.New(t)
			test.now.PID, test.now.Comm = 42, "x"
			h.Add(test.now)
			if test.others != nil {
				test.others(h)
			}
			look := newLook(h, process.Subject{ID: id, SandboxID: "sandbox", PodUID: "0a-1b", PID: 42, StartedAt: started})
			if got := look(); got.State != test.want {
				t.Errorf("%+v, want %s", got, test.want)
			}
		})
	}
}

func TestFrozen(t *testing.T) {
	hosts(t, func(t *testing.T, h *processtest.Host) {
		look := newLook(h, process.Subject{ID: id, PID: 42})
		// crun puts the process one below.
		h.Add(processtest.Process{PID: 42, Comm: "etcd", Started: 5 * time.Second, Cgroup: group + "/container"})
		h.SetCgroup(group, 42)
		if got := look(); got.Frozen {
			t.Errorf("%+v", got)
		}
		h.Freeze(group)
		if got := look(); !got.Frozen || got.State != node.ProcessAlive {
			t.Errorf("%+v", got)
		}
	})
}

func TestContainersNotLookedAtAreForgotten(t *testing.T) {
	h := processtest.New(t)
	h.Add(processtest.Process{PID: 42, Comm: "etcd", Started: 5 * time.Second, Cgroup: group})
	tracker := process.NewTracker(h.Host, "conmon", fixed)
	subjects := []process.Subject{{ID: id, PID: 42}}
	tracker.Look(subjects)
	tracker.Look(nil)
	h.Add(processtest.Process{PID: 42, Comm: "etcd", Started: 7 * time.Second, Cgroup: group})
	if got := tracker.Look(subjects)[id]; got.State != node.ProcessAlive {
		t.Errorf("remembered what it should not: %+v", got)
	}
}
