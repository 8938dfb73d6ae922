package cri_test

import (
	"errors"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/node/cri/critest"
	"github.com/nodekeeper/nodekeeper/pkg/node/process/processtest"
)

// shared adds a static pod that shares one PID namespace: its sandbox has a
// process of its own, PID 77.
func (r *rig) shared(name string) (id, group string) {
	id = critest.ID(name)
	group = "/kubepods.slice/kubepods-pod1.slice/crio-" + id + ".scope"
	r.runtime.AddSandbox(critest.Sandbox{ID: id, Namespace: "ns", Name: name, UID: "u", Source: "file", PID: 77, CreatedAt: r.clock.Now().Wall})
	r.host.Add(processtest.Process{PID: 77, Comm: "pause", Started: 30 * time.Minute, Cgroup: group})
	return id, group
}

func (r *rig) sandbox(t *testing.T, id string) node.Sandbox {
	t.Helper()
	for _, s := range r.look(t).Sandboxes {
		if s.ID == id {
			return s
		}
	}
	t.Fatalf("no sandbox %s", id)
	return node.Sandbox{}
}

func TestSandboxWhoseProcessAndMonitorWereKilled(t *testing.T) {
	r := newRig(t)
	id, group := r.shared("app")
	if got := r.sandbox(t, id).Process; got.State != node.ProcessAlive || got.PID != 77 {
		t.Fatalf("%+v", got)
	}

	// When both are killed, the runtime goes on calling the sandbox ready.
	r.host.Remove(77)
	r.host.SetCgroup(group)
	if got := r.sandbox(t, id); !got.Ready || !got.Process.Dead() {
		t.Errorf("%+v", got)
	}
	// Another process has the number by now.
	r.host.Add(processtest.Process{PID: 77, Comm: "bash", Started: 50 * time.Minute, Cgroup: "/user.slice"})
	if got := r.sandbox(t, id).Process; !got.Dead() {
		t.Errorf("%+v", got)
	}
	if got := r.runtime.Calls("PodSandboxStatus"); got != 1 {
		t.Errorf("asked %d times", got)
	}

	// Stopped, it is nothing to be judged.
	r.runtime.AddSandbox(critest.Sandbox{ID: id, Namespace: "ns", Name: "app", UID: "u", Source: "file", NotReady: true, PID: 77})
	if got := r.sandbox(t, id).Process; got != (node.Process{}) {
		t.Errorf("%+v", got)
	}
}

func TestSandboxesWithoutAProcess(t *testing.T) {
	r := newRig(t)
	r.pod("dropped", "main")
	r.runtime.AddSandbox(critest.Sandbox{ID: "api", Namespace: "ns", Name: "api", UID: "u", Source: "api", PID: 77})
	for range 3 {
		for _, id := range []string{"dropped", "api"} {
			if got := r.sandbox(t, id).Process; got != (node.Process{}) {
				t.Errorf("%s: %+v", id, got)
			}
		}
		r.clock.pass(time.Hour)
	}
	if got := r.runtime.Calls("PodSandboxStatus"); got != 1 {
		t.Errorf("asked %d times; once for the static pod is enough", got)
	}
}

func TestSandboxStatusThatFailsIsUnknown(t *testing.T) {
	r := newRig(t)
	id, group := r.shared("app")
	r.runtime.Fail("PodSandboxStatus", id, errors.New("creating sandbox info: busy"))
	r.host.Remove(77)
	r.host.SetCgroup(group)
	if got := r.sandbox(t, id).Process; got != (node.Process{}) {
		t.Errorf("%+v", got)
	}
	// Asked again, it is seen although it was dead at first sight.
	r.runtime.Fail("PodSandboxStatus", id, nil)
	r.clock.pass(30 * time.Second)
	if got := r.sandbox(t, id).Process; !got.Dead() {
		t.Errorf("%+v", got)
	}
}
