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
				h.Add(processtest.Process{PID: 42, Comm: test.comm, Argv: test.argv, Started: 970 * time.Second, Cgroup: "/system.slice/crio-conmon-" + id + ".scope"})
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

func TestFutureInitOfCrunIsNoCall(t *testing.T) {
	hosts(t, func(t *testing.T, h *processtest.Host) {
		h.Add(processtest.Process{PID: 42, Comm: "crun", Argv: []string{"crun", "create", id}, Started: time.Second, Cgroup: group})
		if got := scan(t, h).Calls; len(got) > 0 {
			t.Errorf("%+v", got)
		}
	})
}

func TestMonitors(t *testing.T) {
	tests := map[string]struct {
		group  string
		inUnit bool
	}{
		"own scope":        {"/kubepods.slice/crio-conmon-" + id + ".scope", false},
		"the unit":         {"/system.slice/crio.service", true},
		"below the unit":   {"/system.slice/crio.service/supervised", true},
		"within a machine": {"/machine.slice/box.service/system.slice/crio.service", true},
		"another unit":     {"/system.slice/my-crio.service", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			hosts(t, func(t *testing.T, h *processtest.Host) {
				h.Add(processtest.Process{PID: 42, Comm: "conmon", Cgroup: test.group})
				h.Add(processtest.Process{PID: 43, Comm: "conmonster", Cgroup: "/system.slice/crio.service"})
				if got := scan(t, h); got.Monitors != 1 || got.MonitorsInUnit != test.inUnit {
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
