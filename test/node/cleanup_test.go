package node_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/test/node"
	"github.com/nodekeeper/nodekeeper/test/node/host"
)

// TestSideBySide: boxes share nothing, not even a port.
func TestSideBySide(t *testing.T) {
	names := []string{"left", "right"}
	boxes := make([]*node.Box, len(names))
	for i, name := range names {
		boxes[i] = start(t, node.Options{Name: name})
	}
	var group sync.WaitGroup
	for _, box := range boxes {
		group.Go(func() {
			if err := box.PutManifest("app.yaml", podManifest("app", "--listen, \":8081\"", "")); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for _, box := range boxes {
		running(t, box, "app", "main", "", 30*time.Second)
		eventually(t, 10*time.Second, "answer from "+box.Name, func() error {
			response, err := box.HTTPClient().Get("http://127.0.0.1:8081/")
			if err == nil {
				response.Body.Close()
			}
			return err
		})
	}
}

// TestKilledOwnerLeavesNothing: a process with a box is killed, as a panic or
// an impatient user does; then its supervisor too.
func TestKilledOwnerLeavesNothing(t *testing.T) {
	if name := os.Getenv("NODEKEEPER_TEST_OWNER"); name != "" {
		start(t, node.Options{Name: name})
		os.Stdout.WriteString("box runs\n")
		select {}
	}
	if os.Geteuid() != 0 || testing.Short() {
		t.Skip("a box needs root, and is not for -short")
	}
	t.Run("the supervisor cleans up", func(t *testing.T) {
		killOwner(t, "orphan")
		eventually(t, 20*time.Second, "box gone", func() error {
			if left := boxesOf("orphan"); len(left) > 0 {
				return fmt.Errorf("still there: %v", left)
			}
			return nil
		})
		nothingLeft(t, "orphan")
	})
	t.Run("the next run cleans up when the supervisor was killed first", func(t *testing.T) {
		owner := startOwner(t, "lost")
		left := boxesOf("lost")
		if len(left) != 1 {
			t.Fatalf("boxes: %v", left)
		}
		record, err := host.ReadRecord(left[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(record.Supervisor.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		endOwner(t, owner)
		for end := time.Now().Add(10 * time.Second); record.Supervisor.Alive(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the supervisor outlives SIGKILL")
			}
		}
		if removed, err := host.Sweep(); err != nil || !slices.Contains(removed, filepath.Base(left[0])) {
			t.Errorf("swept %v, %v", removed, err)
		}
		nothingLeft(t, "lost")
	})
}

func boxesOf(name string) []string {
	dirs, _ := filepath.Glob(filepath.Join(host.RunDir(), name+"-*"))
	return dirs
}

func killOwner(t *testing.T, name string) { endOwner(t, startOwner(t, name)) }

// startOwner runs this test program again; it returns when its box runs.
func startOwner(t *testing.T, name string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	owner := exec.Command(self, "-test.run=^TestKilledOwnerLeavesNothing$")
	owner.Env = append(os.Environ(), "NODEKEEPER_TEST_OWNER="+name)
	stdout, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "box runs") {
			return owner
		}
		t.Log(lines.Text())
	}
	endOwner(t, owner)
	t.Fatal("the owner never had a box")
	return nil
}

func endOwner(t *testing.T, owner *exec.Cmd) {
	t.Helper()
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait()
}
