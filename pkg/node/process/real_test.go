package process_test

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/node/clock"
	"github.com/nodekeeper/nodekeeper/pkg/node/process"
)

// eventually waits for a condition, at most ten seconds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("not within 10 s: %s", what)
		}
		runtime.Gosched()
	}
}

func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	child := exec.Command("sleep", "600")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	})
	return child
}

func TestStatOfRealProcesses(t *testing.T) {
	child := sleeper(t)
	pid := child.Process.Pid
	host := process.ThisHost()
	state := func() string {
		stat, err := host.Stat(pid)
		if err != nil {
			return err.Error()
		}
		return stat.State
	}

	first, err := host.Stat(pid)
	if err != nil {
		t.Fatal(err)
	}
	if age := clock.SinceBoot() - first.Started; age < -20*time.Millisecond || age > time.Minute {
		t.Errorf("a new process seems %v old", age)
	}
	if err := child.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "stopped process has state T", func() bool { return state() == "T" })
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "killed process is a zombie until it is waited for", func() bool { return state() == "Z" })
	_ = child.Wait()
	if _, err := host.Stat(pid); !errors.Is(err, process.ErrGone) {
		t.Errorf("after the wait: %v", err)
	}
}

func TestTrackerOnRealProcesses(t *testing.T) {
	child := sleeper(t)
	subject := process.Subject{ID: "c", PID: child.Process.Pid, StartedAt: time.Now()}
	tracker := process.NewTracker(process.ThisHost(), "conmon", clock.New("/proc"))
	state := func() node.ProcessState { return tracker.Look([]process.Subject{subject})["c"].State }

	if got := state(); got != node.ProcessAlive {
		t.Fatalf("running child is %q", got)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "killed child is a zombie", func() bool { return state() == node.ProcessZombie })
	_ = child.Wait()
	if got := state(); got != node.ProcessGone {
		t.Errorf("reaped child is %q", got)
	}
}

func TestScanOfTheRealHost(t *testing.T) {
	scanner := process.Scanner{Host: process.ThisHost(), Programs: []string{"sleep"}, SinceBoot: clock.SinceBoot}
	child := sleeper(t)
	eventually(t, "the child has become sleep", func() bool {
		comm, err := os.ReadFile("/proc/" + itoa(child.Process.Pid) + "/comm")
		return err == nil && string(comm) == "sleep\n"
	})
	scan, err := scanner.Scan()
	if err != nil || len(scan.Programs) == 0 {
		t.Errorf("scan %+v, %v does not find the child", scan, err)
	}
}
