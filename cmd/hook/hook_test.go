package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/lifecycle"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

func TestTheLogIsKeptAndTheAgentTold(t *testing.T) {
	s := newScene(t)
	end := s.agent(t)
	state := s.state(t, "c1")
	if said := s.start(t, encoded(t, state)); said != "" {
		t.Errorf("it said %q", said)
	}
	log := state.Annotations[crioLogPath]
	do(t, os.WriteFile(log, []byte("later words"), 0o640))
	do(t, os.RemoveAll(filepath.Dir(filepath.Dir(log))))

	text, b := s.live(t, "c1")
	if text != "later words" {
		t.Errorf("kept %q", text)
	}
	want := record.Birth{
		APIVersion: record.APIVersion, Kind: record.KindBirth,
		Attempt: record.Attempt{
			Namespace: "kube-system", Pod: "etcd-node1", PodUID: "c1", Container: "etcd", Attempt: 7,
			ContainerID: "c1", SandboxID: "s1", Revision: "5",
		},
		BootID: bootID(), Seen: b.Seen, By: record.SourceHook, LogPath: log, Bundle: "/run/bundle",
		Image: "registry.test/etcd:3.6.6", ImageRef: "abc", SpecHash: "1234", Pid: 4711,
	}
	if b != want || b.BootID == "" || time.Since(b.Seen) > time.Minute {
		t.Errorf("\n got %+v\nwant %+v", b, want)
	}
	events := end()
	if len(events) != 1 {
		t.Fatalf("events %+v", events)
	}
	if e := events[0]; e.Kind != lifecycle.Created || e.Source != lifecycle.Hook || e.ContainerID != "c1" || e.LogPath != log ||
		e.Attempt != 7 || e.Detail != "" || e.BootID != b.BootID {
		t.Errorf("event %+v", e)
	}
	if left := s.spooled(t); len(left) != 0 {
		t.Errorf("spooled too: %+v", left)
	}
}

func TestWhatIsThereStays(t *testing.T) {
	s := newScene(t)
	state := encoded(t, s.state(t, "c1"))
	s.start(t, state)
	_, first := s.live(t, "c1")
	if said := s.start(t, state); said != "" {
		t.Errorf("the second time it said %q", said)
	}
	if _, second := s.live(t, "c1"); second != first {
		t.Errorf("birth %+v became %+v", first, second)
	}
	do(t, os.Remove(filepath.Join(s.root, record.LivePath("c1"), "log.0")))
	// Even where no more containers may be added.
	s.start(t, state, "--max-live", "0")
	if text, _ := s.live(t, "c1"); text != "words of c1" {
		t.Errorf("what is missing is not added: %q", text)
	}
}

func TestPoststopOnlyTells(t *testing.T) {
	s := newScene(t)
	state := s.state(t, "c1")
	state.Status, state.Pid = "stopped", 0
	if said := s.start(t, encoded(t, state)); said != "" {
		t.Errorf("it said %q", said)
	}
	s.nothingKept(t, "c1")
	if events := s.spooled(t); len(events) != 1 || events[0].Kind != lifecycle.Removed {
		t.Errorf("events %+v", events)
	}
}

func TestOnlyStaticPodsAreKept(t *testing.T) {
	for source, kept := range map[string]bool{"file": true, "http": true, "api": false, "": false} {
		for _, all := range []bool{false, true} {
			t.Run(fmt.Sprintf("%q all=%v", source, all), func(t *testing.T) {
				s := newScene(t)
				state := s.state(t, "c1")
				state.Annotations[configSource] = source
				said := s.start(t, encoded(t, state), fmt.Sprintf("--all=%v", all))
				if said != "" {
					t.Errorf("it said %q", said)
				}
				if kept || all {
					s.live(t, "c1")
					return
				}
				s.nothingKept(t, "c1")
				if events := s.spooled(t); len(events) != 0 {
					t.Errorf("events %+v", events)
				}
			})
		}
	}
}

func TestAHundredContainersAtOnce(t *testing.T) {
	s := newScene(t)
	end := s.agent(t)
	const all = 100
	var done sync.WaitGroup
	for i := range all {
		state := encoded(t, s.state(t, fmt.Sprint("c", i)))
		done.Go(func() {
			for range mostTries {
				cmd := s.command()
				cmd.Stdin = strings.NewReader(state)
				began := time.Now()
				out, err := cmd.CombinedOutput()
				took := time.Since(began)
				if err != nil || len(out) > 0 || took > deadline+slack {
					t.Errorf("%v after %v: %s", err, took, out)
				}
				// Only one whose time was up is started again.
				if s.hasLog(fmt.Sprint("c", i)) || took < deadline/2 {
					return
				}
			}
		})
	}
	done.Wait()
	for i := range all {
		id := fmt.Sprint("c", i)
		if text, _ := s.live(t, id); text != "words of "+id {
			t.Errorf("%s: %q", id, text)
		}
	}
	if told := len(end()) + len(s.spooled(t)); told < all {
		t.Errorf("%d events", told)
	}
}

// The hook stands in the way of the control plane: it has to start quickly, and
// what is not linked into it cannot fork or dial out.
func TestTheHookIsSmall(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	do(t, err)
	for _, pkg := range strings.Fields(string(out)) {
		if strings.HasPrefix(pkg, "k8s.io/") || strings.HasPrefix(pkg, "sigs.k8s.io/") || pkg == "os/exec" || pkg == "net/http" || pkg == "crypto/tls" {
			t.Errorf("it imports %s", pkg)
		}
	}
	info, err := os.Stat(binary)
	do(t, err)
	if info.Size() > 8<<20 {
		t.Errorf("it has %d bytes", info.Size())
	}
}
