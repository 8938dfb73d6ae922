package process_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/node/process"
	"github.com/nodekeeper/nodekeeper/pkg/node/process/processtest"
)

func scanner(h *processtest.Host) process.Scanner {
	return process.Scanner{
		Host: h.Host, Monitor: "conmon", Runtimes: []string{"runc", "crun"}, Unit: "crio.service",
		SinceBoot: func() time.Duration { return fixed.now.Boot },
	}
}

func scan(t *testing.T, h *processtest.Host) process.Scan {
	t.Helper()
	found, err := scanner(h).Scan()
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestCalls(t *testing.T) {
	created := strings.Fields("/usr/bin/runc --root /run/runc --log-format json --systemd-cgroup create --bundle /b/" + id + " --pid-file p " + id)
	tests := map[string]struct {
		comm string
		argv []string
		want []node.RuntimeCall
	}{
		"create":              {"runc", created, call("create", id)},
		"kill":                {"crun", []string{"crun", "--root=/run/crun", "kill", id, "TERM"}, call("kill", id)},
		"script":              {"runc", []string{"/bin/sh", "/opt/bin/runc", "start", id}, call("start", id)},
		"sealed copy":         {"6", []string{"/usr/bin/crun", "start", id}, call("start", id)},
		"sealed copy, by exe": {"memfd:crun_clon", []string{"crun", "exec", "--process", "p", id}, call("exec", id)},
		"no ID":               {"runc", []string{"runc", "list"}, call("list", "")},
		"the container's own": {"runc", []string{"runc", "init"}, nil},
		"no verb":             {"runc", []string{"runc", "--version"}, nil},
		"wrapper":             {"runc-wrapper", []string{"/opt/runc-wrapper", "start", id}, nil},
		"speaks of it":        {"vi", []string{"vi", "runc", "start"}, nil},
		"number of its own":   {"7", []string{"7", "start", id}, nil},
		"zombie":              {"runc", nil, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			hosts(t, func(t *testing.T, h *processtest.Host) {
				monitors := "/system.slice/crio-conmon-" + id + ".scope"
				h.Add(processtest.Process{PID: 41, Comm: "conmon", Cgroup: monitors})
				h.Add(processtest.Process{PID: 42, Parent: 41, Comm: test.comm, Argv: test.argv, Started: 970 * time.Second, Cgroup: monitors})
				if got := scan(t, h).Calls; !slices.Equal(got, test.want) {
					t.Errorf("got %+v, want %+v", got, test.want)
				}
			})
		})
	}
}

func call(verb, id string) []node.RuntimeCall {
	return []node.RuntimeCall{{PID: 42, Verb: verb, ContainerID: id, Age: 30 * time.Second}}
}

// family puts processes on a host, each the parent of the next, and returns the
// calls that are found among them. The last one is process 50.
func family(t *testing.T, h *processtest.Host, line ...processtest.Process) []node.RuntimeCall {
	t.Helper()
	first := 51 - len(line)
	for i, p := range line {
		p.PID, p.Started = first+i, 970*time.Second
		if i > 0 {
			p.Parent = p.PID - 1
		}
		h.Add(p)
	}
	return scan(t, h).Calls
}

var (
	unit     = "/system.slice/crio.service"
	monitors = "/kubepods.slice/kubepods-pod1.slice/crio-conmon-" + id + ".scope"
	crio     = processtest.Process{Comm: "crio", Cgroup: unit}
	conmon   = processtest.Process{Comm: "conmon", Cgroup: monitors, Argv: []string{"conmon", "-b", "/b", "-c", id, "-n", "k8s_main_app_ns_uid_0"}}
	inside   = processtest.Process{Comm: "dockerd", Cgroup: group}
)

func runc(cgroup string, argv ...string) processtest.Process {
	return processtest.Process{Comm: "runc", Argv: append([]string{"runc"}, argv...), Cgroup: cgroup}
}

func TestCallsOfTheRuntime(t *testing.T) {
	tests := map[string][]processtest.Process{
		"the runtime's own":        {crio, runc(unit, "start", id)},
		"of a monitor":             {conmon, runc(monitors, "create", id)},
		"of a monitor elsewhere":   {{Comm: "crio-conmon", Cgroup: monitors}, runc(monitors, "create", id)},
		"of a monitor in the unit": {{Comm: "conmon", Cgroup: unit}, runc(unit, "create", id)},
		"behind a script":          {conmon, {Comm: "sh", Cgroup: monitors, Argv: []string{"sh", "/opt/wrap"}}, runc(monitors, "create", id)},
		"of containerd":            {{Comm: "containerd-shim", Cgroup: unit}, runc(unit, "create", id)},
		"in a box":                 {{Comm: "crio", Cgroup: "/machine.slice/box.service" + unit}, runc("/machine.slice/box.service"+unit, "start", id)},
	}
	for name, line := range tests {
		t.Run(name, func(t *testing.T) {
			hosts(t, func(t *testing.T, h *processtest.Host) {
				if got := family(t, h, line...); len(got) != 1 || got[0].PID != 50 || got[0].ContainerID != id {
					t.Errorf("got %+v", got)
				}
			})
		})
	}
}

func TestCallsOfOthers(t *testing.T) {
	podman := "/machine.slice/libpod-conmon-" + id + ".scope"
	tests := map[string][]processtest.Process{
		"crun's child that becomes the init":    {conmon, runc(monitors, "--version"), runc(group, "create", id)},
		"a build in a pod":                      {conmon, inside, runc(group, "run", "--bundle", "/b", "q8kzs0f2a2b7")},
		"a build in a cgroup of its own":        {conmon, inside, runc("/system.slice/build.scope", "run", "b")},
		"below the container's cgroup":          {conmon, {Comm: "systemd", Cgroup: group + "/init.scope"}, runc(group+"/docker/"+strings.Repeat("cd", 32), "create", id)},
		"an orphan in the host's PID namespace": {conmon, runc(group, "run", "b")},
		"a runtime in a pod":                    {conmon, {Comm: "crio", Cgroup: group + unit}, runc(group+unit, "start", id)},
		"its monitor":                           {conmon, {Comm: "conmon", Cgroup: group + monitors}, runc(group+monitors, "create", id)},
		"a systemd unit":                        {runc("/system.slice/agent.service", "run", "--bundle", "/opt/agent", "agent")},
		"podman":                                {{Comm: "conmon", Cgroup: podman}, runc(podman, "create", id)},
		"an admin":                              {{Comm: "bash", Cgroup: "/user.slice/user-0.slice/session-1.scope"}, runc("/user.slice/user-0.slice/session-1.scope", "kill", id)},
		"another unit":                          {{Comm: "crio", Cgroup: "/system.slice/my-crio.service"}, runc("/system.slice/my-crio.service", "start", id)},
		"a runtime that has ended":              {runc(unit, "start", id)},
		"a monitor that has ended":              {runc(monitors, "create", id)},
	}
	for name, line := range tests {
		t.Run(name, func(t *testing.T) {
			hosts(t, func(t *testing.T, h *processtest.Host) {
				if got := family(t, h, line...); len(got) > 0 {
					t.Errorf("taken for calls of the runtime: %+v", got)
				}
			})
		})
	}
}

func TestCallOnANodeThatIsAContainer(t *testing.T) {
	hosts(t, func(t *testing.T, h *processtest.Host) {
		outside := "/docker/" + strings.Repeat("ef", 32)
		h.Add(processtest.Process{PID: 1, Comm: "systemd", Cgroup: outside + "/init.scope"})
		within := conmon
		within.Cgroup = outside + monitors
		if got := family(t, h, within, runc(outside+monitors, "create", id)); len(got) != 1 {
			t.Errorf("%+v", got)
		}
		if got := family(t, h, within, runc(outside+group, "run", "b")); len(got) > 0 {
			t.Errorf("a build in a pod of such a node: %+v", got)
		}
	})
}

func TestMonitorsInUnit(t *testing.T) {
	tests := map[string]struct {
		group  string
		argv   []string
		inUnit bool
	}{
		"own scope":        {"/kubepods.slice/crio-conmon-" + id + ".scope", nil, false},
		"the unit":         {unit, []string{"conmon", "-b", "/b", "-c", id}, true},
		"below the unit":   {unit + "/supervised", nil, true},
		"within a machine": {"/machine.slice/box.service" + unit, nil, true},
		"another unit":     {"/system.slice/my-crio.service", nil, false},
		"podman's":         {"/machine.slice/libpod-conmon-" + id + ".scope", nil, false},
		"in a pod":         {group + unit, nil, false},
		"of an exec":       {unit, []string{"conmon", "-c", id, "-r", "runc", "-e", "-l", "/tmp/log"}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			hosts(t, func(t *testing.T, h *processtest.Host) {
				h.Add(processtest.Process{PID: 42, Comm: "conmon", Cgroup: test.group, Argv: test.argv})
				h.Add(processtest.Process{PID: 43, Comm: "conmonster", Cgroup: unit})
				if got := scan(t, h); got.MonitorsInUnit != test.inUnit {
					t.Errorf("%+v", got)
				}
			})
		})
	}
}

func TestScanSeesTheProgramsToLookOutFor(t *testing.T) {
	h := processtest.New(t)
	h.Add(processtest.Process{PID: 7, Comm: "cluster-restore"}) // as the kernel cuts it
	h.Add(processtest.Process{PID: 8, Comm: "cluster-restore"})
	s := scanner(h)
	s.Programs = []string{"cluster-backup.sh", "cluster-restore.sh"}
	found, err := s.Scan()
	if err != nil || !slices.Equal(found.Programs, []string{"cluster-restore.sh"}) {
		t.Errorf("found %q, %v", found.Programs, err)
	}
}

func TestScanWithoutProcIsAnError(t *testing.T) {
	h := processtest.New(t)
	h.Proc += "-not-there"
	if _, err := scanner(h).Scan(); err == nil {
		t.Error("no error")
	}
}

func BenchmarkScan1000(b *testing.B) {
	h := processtest.New(b)
	for pid := range 1000 {
		p := processtest.Process{PID: pid + 1, Comm: fmt.Sprintf("worker-%d", pid)}
		if pid < 220 {
			p.Comm, p.Cgroup = "conmon", fmt.Sprintf("/kubepods.slice/crio-conmon-%064x.scope", pid)
		}
		h.Add(p)
	}
	s := scanner(h)
	for b.Loop() {
		if _, err := s.Scan(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTracker330(b *testing.B) {
	h := processtest.New(b)
	var subjects []process.Subject
	for n := range 330 {
		container := fmt.Sprintf("%064x", n)
		h.Add(processtest.Process{PID: n + 1, Comm: "x", Started: time.Second, Cgroup: "/kubepods.slice/crio-" + container + ".scope"})
		subjects = append(subjects, process.Subject{ID: container, PID: n + 1})
	}
	tracker := process.NewTracker(h.Host, "conmon", fixed)
	for b.Loop() {
		tracker.Look(subjects)
	}
}
