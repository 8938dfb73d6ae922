package remedy

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// withoutSystemd is an executor for a host that restarts its kubelet by a
// command, here a script.
func (n *scripted) withoutSystemd(script string) (*Executor, restartpolicy.Step) {
	n.t.Helper()
	n.snap.Kubelet.Unit = node.Unit{Err: errors.New("no bus")}
	n.snap.Runtime.Unit = node.Unit{Err: errors.New("no bus")}
	e, step := n.given("restart kubelet")
	e.Units, e.RestartCommand = nil, []string{"/bin/sh", "-c", script}
	return e, step
}

func TestACommandRestartsTheKubeletWhereThereIsNoSystemd(t *testing.T) {
	n := newScripted(t)
	mark := filepath.Join(t.TempDir(), "mark")
	e, step := n.withoutSystemd("echo done > " + mark)
	n.expect(t, e, t.Context(), step, restartpolicy.ResultDone, "looks after pods again")
	if read(t, mark) != "done\n" {
		t.Error("the command did not run")
	}
	n.called()
}

func TestACommandThatFailsIsReportedWithItsOutput(t *testing.T) {
	n := newScripted(t)
	e, step := n.withoutSystemd("echo no such service >&2; exit 5")
	n.expect(t, e, t.Context(), step, restartpolicy.ResultFailed, "exit status 5: no such service")
}

func TestACommandIsKilledWithItsChildren(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := run(ctx, []string{"/bin/sh", "-c", "sleep 600 & echo $! > " + pid + "; wait"}, 100)
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 5*time.Second {
		t.Errorf("%v after %s", err, time.Since(began))
	}
	child, err := strconv.Atoi(strings.TrimSpace(read(t, pid)))
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(5 * time.Second); running(child); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %d lives", child)
		}
	}
}

// running is false for a zombie: nobody may be there to wait for it.
func running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestTheOutputOfACommandIsBounded(t *testing.T) {
	out, err := run(t.Context(), []string{"/bin/sh", "-c", "echo first; head -c 1000000 /dev/zero"}, 10)
	if err != nil || len(out) != 10 || !strings.HasPrefix(string(out), "first\n") {
		t.Errorf("%d bytes, %v", len(out), err)
	}
}

func TestACommandThatLeavesAChildBehindReturns(t *testing.T) {
	began := time.Now()
	run(t.Context(), []string{"/bin/sh", "-c", "exec setsid sleep 3 & exit 0"}, 10)
	if took := time.Since(began); took > 2500*time.Millisecond {
		t.Errorf("took %s", took)
	}
}
