package node_test

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"sync"
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
// an impatient user does.
func TestKilledOwnerLeavesNothing(t *testing.T) {
	if name := os.Getenv("NODEKEEPER_TEST_OWNER"); name != "" {
		start(t, node.Options{Name: name})
		os.Stdout.WriteString("box runs\n")
		select {}
	}
	if os.Geteuid() != 0 || testing.Short() {
		t.Skip("a box needs root, and is not for -short")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	owner := exec.Command(self, "-test.run=^TestKilledOwnerLeavesNothing$")
	owner.Env = append(os.Environ(), "NODEKEEPER_TEST_OWNER=orphan")
	stdout, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && !strings.Contains(lines.Text(), "box runs") {
		t.Log(lines.Text())
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait()
	eventually(t, 20*time.Second, "supervisor cleans up", func() error {
		entries, err := os.ReadDir(host.RunDir())
		for _, entry := range entries {
			if strings.HasPrefix(entry.Name(), "orphan-") {
				return os.ErrExist
			}
		}
		return err
	})
	nothingLeft(t, "orphan")
}
