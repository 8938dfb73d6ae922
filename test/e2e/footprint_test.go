package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
	"github.com/nodekeeper/nodekeeper/test/node"
)

const (
	// bench marks what is measured on an idle machine, and by make bench alone.
	bench = "Bench"

	footprintPods = 110
	footprintSpan = time.Minute
	// footprintLimit is the agent's resident memory, in KiB.
	footprintLimit = 40 << 10
	// ticks of CPU time in a second, as /proc has them on every Linux platform
	// of Go.
	ticks = 100
)

// The agent's memory and CPU time on a full node, with the default
// configuration and each of the kubelet's two views. Only memory can fail the
// test: the CPU time depends on what else runs on the machine.
func TestFootprint(t *testing.T) {
	labelled(t, slow, bench)
	t.Run("pods-api", func(t *testing.T) { footprint(t, "pods-api", node.Standalone) })
	// The Pods API of a kubelet that waits for its API server is not ready.
	t.Run("pods", func(t *testing.T) { footprint(t, "pods", node.APIClosed) })
}

func footprint(t *testing.T, view string, mode node.Kubeconfig) {
	program := os.Getenv("NODEKEEPER_BINARY")
	if program == "" {
		t.Fatal("NODEKEEPER_BINARY is not set: run make bench")
	}
	s := stage(t, node.Options{
		Kubeconfig:    mode,
		PlainRuntime:  true,
		KubeletConfig: func(config map[string]any) { config["maxPods"] = footprintPods + 10 },
	})
	for i := range footprintPods {
		s.put(podSpec{name: fmt.Sprintf("pod-%d", i), containers: []container{{name: "main"}}})
	}
	s.eventually(15*time.Minute, "all pods run", func() bool {
		time.Sleep(2 * time.Second)
		records, err := s.box.ContainerRecords(s.ctx, "")
		s.must(err, "list containers")
		running := 0
		for _, r := range records {
			if r.Running() {
				running++
			}
		}
		return running == footprintPods
	})
	s.must(s.box.InstallAgent(s.ctx, program, "apiVersion: nodekeeper.io/v1alpha1\nkind: Configuration\n"), "install agent")
	s.must(s.box.StartAgent(s.ctx), "start agent")
	s.eventually(2*time.Minute, "all containers are healthy", func() bool {
		healthy := 0
		for _, v := range s.verdicts() {
			if strings.HasPrefix(v.Pod, "pod-") && v.Container == "main" && v.Verdict == restartpolicy.Healthy {
				healthy++
			}
		}
		return healthy == footprintPods
	})

	before := s.usage()
	began := time.Now()
	time.Sleep(footprintSpan)
	after, span := s.usage(), time.Since(began)
	if before.pid != after.pid {
		t.Fatalf("the agent was restarted: process %s became %s", before.pid, after.pid)
	}
	cpu := float64(after.cpu-before.cpu) / ticks / span.Seconds() * 100
	load, err := os.ReadFile("/proc/loadavg")
	s.must(err, "read the load")
	if got := s.view(); got != view {
		t.Errorf("the kubelet's view came from %q, not from %q", got, view)
	}
	s.Logf("footprint at %d pods, view %s: VmRSS %.1f MiB (anonymous %.1f, file %.1f, peak %.1f), CPU %.2f %% of a core over %.0f s; load of the machine %s",
		footprintPods, view, mebi(after.kib["VmRSS"]), mebi(after.kib["RssAnon"]), mebi(after.kib["RssFile"]), mebi(after.kib["VmHWM"]),
		cpu, span.Seconds(), strings.TrimSpace(string(load)))
	if after.kib["VmRSS"] > footprintLimit {
		t.Errorf("VmRSS is %.1f MiB, more than %.1f MiB", mebi(after.kib["VmRSS"]), mebi(footprintLimit))
	}
	if err := s.noActs(); err != nil {
		t.Error(err)
	}
}

// usage is what a process has used so far: memory by the names of
// /proc/PID/status, and CPU time.
type usage struct {
	pid string
	kib map[string]int
	cpu int // ticks
}

// usage reads what the agent has used.
func (s *scene) usage() usage {
	s.Helper()
	pid, err := s.box.UnitProperty(s.ctx, node.Agent, "MainPID")
	s.must(err, "find the agent")
	u := usage{pid: pid, kib: map[string]int{}}
	status, _, err := s.box.Exec(s.ctx, "cat", "/proc/"+pid+"/status")
	s.must(err, "read the agent's status")
	for line := range strings.Lines(status) {
		if f := strings.Fields(line); len(f) == 3 && f[2] == "kB" {
			n, err := strconv.Atoi(f[1])
			s.must(err, "read the agent's status")
			u.kib[strings.TrimSuffix(f[0], ":")] = n
		}
	}
	stat, _, err := s.box.Exec(s.ctx, "cat", "/proc/"+pid+"/stat")
	s.must(err, "read the agent's stat")
	// The name in parentheses may hold spaces; state is the field after it, and
	// utime and stime the 12th and 13th.
	fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	if len(fields) < 13 {
		s.Fatalf("stat of the agent: %q", stat)
	}
	for _, f := range fields[11:13] {
		n, err := strconv.Atoi(f)
		s.must(err, "read the agent's stat")
		u.cpu += n
	}
	return u
}

// view is where the agent has the kubelet's view from.
func (s *scene) view() string {
	s.Helper()
	out, stderr, _ := s.box.Exec(s.ctx, node.AgentProgram, "status", "-o", "json")
	var status struct {
		Node struct{ Kubelet struct{ View string } }
	}
	if err := json.Unmarshal([]byte(out), &status); err != nil {
		s.Fatalf("status: %v %s", err, stderr)
	}
	return status.Node.Kubelet.View
}

func mebi(kib int) float64 { return float64(kib) / 1024 }
