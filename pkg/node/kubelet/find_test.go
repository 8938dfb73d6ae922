package kubelet

import (
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/node/process/processtest"
)

const (
	inPod    = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice/crio-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope"
	inDocker = "/docker/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef/kubelet.slice/kubelet.service"
	inUnit   = "/system.slice/kubelet.service"
)

// proc is a program of the host in a control group.
func proc(pid, parent int, group, line string) program {
	return program{Process: processtest.Process{PID: pid, Parent: parent, Argv: strings.Fields(line), Cgroup: group}}
}

func (p program) with(change func(*program)) program {
	change(&p)
	return p
}

func TestTheKubeletIsFound(t *testing.T) {
	unit := node.Unit{Name: "kubelet.service"}
	for name, c := range map[string]struct {
		programs []program
		main     int
		pid      int
		unit     string
		says     string
	}{
		"in its service": {[]program{proc(10, 1, inUnit, "/usr/bin/kubelet --config=/c")}, 10, 10, "kubelet.service", ""},
		"by the kernel's name of a program that was replaced": {
			[]program{proc(10, 1, inUnit, "/usr/bin/kubelet").with(func(p *program) { p.file = "/usr/bin/kubelet (deleted)" })}, 10, 10, "kubelet.service", ""},
		"while systemd is silent": {[]program{proc(10, 1, inUnit, "/usr/bin/kubelet")}, 0, 10, "kubelet.service", ""},
		"below a shell that entered a mount namespace": {[]program{
			proc(9, 1, inUnit, "bash -c nsenter..."), proc(10, 9, inUnit, "/usr/bin/kubelet --config=/etc/kubernetes/kubelet.conf --housekeeping-interval=30s")},
			9, 10, "kubelet.service", ""},
		"in a wrapper of its name, which is none": {[]program{
			proc(9, 1, inUnit, "/bin/sh /usr/local/bin/kubelet").with(func(p *program) { p.Comm = "kubelet" }), proc(10, 9, inUnit, "/usr/bin/kubelet")},
			9, 10, "kubelet.service", ""},
		"in a service that has another control group": {[]program{proc(10, 1, "/kube.slice", "/usr/bin/kubelet")}, 10, 10, "kubelet.service", ""},
		"in another service":                          {[]program{proc(10, 5, "/system.slice/rke2-server.service", "kubelet --config-dir=/d").with(func(p *program) { p.file = "/var/lib/rancher/rke2/data/v1/bin/kubelet" })}, 0, 10, "rke2-server.service", ""},
		"below another's control group":               {[]program{proc(10, 5, "/system.slice/k0sworker.service/kubelet", "/var/lib/k0s/bin/kubelet --root-dir=/r")}, 0, 10, "k0sworker.service", ""},
		"in a session":                                {[]program{proc(10, 5, "/user.slice/user-0.slice/session-3.scope", "/opt/own/kubelet")}, 0, 10, "", ""},
		"within MicroShift":                           {[]program{proc(10, 1, "/system.slice/microshift.service", "microshift run"), proc(11, 10, "/system.slice/microshift-etcd.scope", "microshift-etcd run")}, 0, 10, "microshift.service", ""},
		"within k3s": {[]program{proc(10, 1, "/system.slice/k3s.service", "x").with(func(p *program) {
			p.Argv, p.file, p.Comm = []string{"/usr/local/bin/k3s server"}, "/var/lib/rancher/k3s/data/abc/bin/k3s", "k3s-server"
		})}, 0, 10, "k3s.service", ""},
		"within hyperkube": {[]program{proc(10, 1, inUnit, "/usr/bin/hyperkube kubelet --config=/c")}, 10, 10, "kubelet.service", ""},

		"and not the one in a pod":               {[]program{proc(10, 1, inUnit, "/usr/bin/kubelet"), proc(20, 19, inPod, "/usr/bin/kubelet")}, 0, 10, "kubelet.service", ""},
		"and not the one in a container of Kind": {[]program{proc(10, 1, "/system.slice/k3s.service", "/usr/bin/kubelet"), proc(20, 19, inDocker, "/usr/bin/kubelet")}, 0, 10, "k3s.service", ""},
		"and not the one of another PID namespace": {[]program{proc(10, 1, "/system.slice/k3s.service", "/usr/bin/kubelet"),
			proc(20, 19, inUnit, "/usr/bin/kubelet").with(func(p *program) { p.pids = "\t7" })}, 0, 10, "k3s.service", ""},
		"and not a user's":                   {[]program{proc(10, 1, "/a.service", "/usr/bin/kubelet"), proc(20, 19, "/b.service", "/home/u/kubelet").with(func(p *program) { p.user = 1000 })}, 0, 10, "a.service", ""},
		"and not one that tells its version": {[]program{proc(10, 1, "/a.service", "/usr/bin/kubelet"), proc(20, 19, "/b.service", "/usr/bin/kubelet --version")}, 0, 10, "a.service", ""},
		"and not its own copy before exec":   {[]program{proc(10, 1, "/a.service", "/usr/bin/kubelet"), proc(20, 10, "/a.service", "/usr/bin/kubelet")}, 0, 10, "a.service", ""},
		"and not one that has ended":         {[]program{proc(10, 1, "/a.service", "/usr/bin/kubelet"), proc(20, 1, inUnit, "/usr/bin/kubelet").with(func(p *program) { p.State = "Z" })}, 0, 10, "a.service", ""},
		"and not a program about kubelets":   {[]program{proc(10, 1, "/a.service", "/usr/bin/kubelet"), proc(20, 1, "/b.service", "/usr/bin/kubelet-exporter --kubelet"), proc(21, 1, "/b.service", "vi kubelet"), proc(22, 1, "/b.service", "microshift version")}, 0, 10, "a.service", ""},
		"in its service beside another":      {[]program{proc(10, 1, inUnit, "/usr/bin/kubelet"), proc(20, 1, "/b.service", "/opt/own/kubelet")}, 0, 10, "kubelet.service", ""},
		"as the main one of its service":     {[]program{proc(10, 1, inUnit, "/usr/bin/kubelet"), proc(20, 1, inUnit, "/opt/own/kubelet")}, 20, 20, "kubelet.service", ""},

		"none":                   {nil, 0, 0, "", "no kubelet runs"},
		"none outside of a pod":  {[]program{proc(20, 19, inPod, "/usr/bin/kubelet")}, 0, 0, "", "no kubelet runs"},
		"two outside":            {[]program{proc(10, 1, "/a.service", "/usr/bin/kubelet"), proc(20, 1, "/user.slice/session-1.scope", "/opt/own/kubelet")}, 0, 0, "", "(10 in a.service, 20 in no service): set kubelet.unit"},
		"two in the service":     {[]program{proc(10, 1, inUnit, "/usr/bin/kubelet"), proc(20, 1, inUnit, "/opt/own/kubelet")}, 0, 0, "", "2 processes"},
		"one that shows nothing": {[]program{proc(10, 1, inUnit, "/usr/bin/kubelet").with(func(p *program) { p.user = -1 })}, 0, 0, "", "no kubelet runs"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			for _, p := range c.programs {
				h.run(p)
			}
			unit := unit
			unit.MainPID = c.main
			got, err := find(h.Host.Host, unit, nil)
			if c.says != "" {
				if err == nil || got != nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
					t.Fatalf("got %+v, error %v", got, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.stat.PID != c.pid || got.program.Unit != c.unit {
				t.Errorf("got process %d of %q", got.stat.PID, got.program.Unit)
			}
		})
	}
}

// A node that is itself a container, such as that of a test.
func TestTheKubeletOfANodeInAContainer(t *testing.T) {
	h := newHost(t)
	outside := strings.TrimSuffix(inDocker, "/kubelet.slice/kubelet.service")
	h.Add(processtest.Process{PID: 1, Comm: "systemd", Cgroup: outside + "/init.scope"})
	h.run(proc(10, 1, outside+inUnit, "/usr/bin/kubelet"))
	h.run(proc(20, 1, outside+inPod, "/usr/bin/kubelet"))
	got, err := find(h.Host.Host, node.Unit{}, nil)
	if err != nil || got.stat.PID != 10 || got.program.Unit != "kubelet.service" {
		t.Errorf("got %+v, error %v", got, err)
	}
}

func TestTheKubeletWithCgroupV1(t *testing.T) {
	h := newHost(t)
	h.Host = processtest.NewV1(t)
	h.run(proc(10, 1, inUnit, "/usr/bin/kubelet"))
	h.run(proc(20, 1, "/kubepods/burstable/pod1/x", "/usr/bin/kubelet"))
	got, err := find(h.Host.Host, node.Unit{}, nil)
	if err != nil || got.stat.PID != 10 || got.program.Unit != "kubelet.service" {
		t.Errorf("got %+v, error %v", got, err)
	}
}

// Given a kubelet that was found without a service of the configured name.
// When others appear, it stays the kubelet; in the configured service, it does
// not.
func TestTheKubeletStaysTheSameWhileItRuns(t *testing.T) {
	h := newHost(t)
	unit := node.Unit{Name: "kubelet.service"}
	h.run(proc(10, 1, "/a.service", "/usr/bin/kubelet"))
	first, err := find(h.Host.Host, unit, nil)
	if err != nil {
		t.Fatal(err)
	}
	h.run(proc(20, 1, "/user.slice/session-1.scope", "/opt/own/kubelet"))
	if got, err := find(h.Host.Host, unit, first); err != nil || !got.same(first) {
		t.Errorf("a second one: %+v, error %v", got, err)
	}
	h.run(proc(10, 1, "/a.service", "/usr/bin/kubelet").with(func(p *program) { p.Started = 50 * time.Minute }))
	if got, err := find(h.Host.Host, unit, first); err == nil {
		t.Errorf("its number went to another: %+v", got)
	}
	h.kubelet(30, "/usr/bin/kubelet")
	if got, err := find(h.Host.Host, unit, first); err != nil || got.stat.PID != 30 {
		t.Errorf("one in the service: %+v, error %v", got, err)
	}
}

// Its control group may be another's: then only systemd tells its service.
func TestTheServiceIsRememberedWhileSystemdIsSilent(t *testing.T) {
	h := newHost(t)
	h.run(proc(10, 1, "/kube.slice", "/usr/bin/kubelet"))
	silent := node.Unit{Name: "kubelet.service"}
	first, err := find(h.Host.Host, silent, nil)
	if err != nil || first.program.Unit != "" {
		t.Fatalf("got %+v, error %v", first, err)
	}
	for _, unit := range []node.Unit{unitOf(10), silent} {
		if first, err = find(h.Host.Host, unit, first); err != nil || first.program.Unit != "kubelet.service" {
			t.Errorf("got %+v, error %v", first, err)
		}
	}
}

func TestAKubeletThatIsStoppedIsThere(t *testing.T) {
	h := newHost(t)
	for _, state := range []string{"S", "T", "D"} {
		h.run(proc(10, 1, inUnit, "/usr/bin/kubelet").with(func(p *program) { p.State = state }))
		var last *running
		for range 2 {
			got, err := find(h.Host.Host, node.Unit{Name: "kubelet.service", MainPID: 10}, last)
			if err != nil || got.stat.State != state {
				t.Errorf("%s: %+v, error %v", state, got, err)
			}
			last = got
		}
	}
	h.Remove(10)
	if got, err := find(h.Host.Host, node.Unit{}, nil); err == nil {
		t.Errorf("gone: %+v", got)
	}
}
