package agent

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// fakeRecords has a record of every container it is asked about.
type fakeRecords struct {
	observed int
	asked    []string
	named    map[string][]string
}

func (r *fakeRecords) Observe(*node.Snapshot) { r.observed++ }

func (r *fakeRecords) Record(_ context.Context, id string) (string, bool) {
	r.asked = append(r.asked, id)
	return "records/" + id, true
}

func (r *fakeRecords) NameAct(path, actID string) { r.named[path] = append(r.named[path], actID) }
func (r *fakeRecords) State() status.Records      { return status.Records{Records: 7} }

func TestAnActAndItsRecordNameEachOther(t *testing.T) {
	s := stage(t)
	records := &fakeRecords{named: map[string][]string{}}
	s.Config.Directories.Log = t.TempDir()
	s.Keep(records)
	s.node = stale()
	s.watch(3 * time.Minute)
	if len(s.did) == 0 {
		t.Fatal("no act")
	}
	act := s.journal.Acts()[0]
	if want := "records/" + act.Target.ContainerID; act.Record != want || act.Target.ContainerID == "" {
		t.Errorf("the act names record %q, want %q", act.Record, want)
	}
	if !slices.Contains(records.named[act.Record], act.ID) {
		t.Errorf("the record names acts %q, want %q", records.named[act.Record], act.ID)
	}
	if records.observed == 0 {
		t.Error("no look was handed over")
	}
	got, err := status.Read(s.cfg.Directories.Run)
	if err != nil || got.Records == nil || got.Records.Records != 7 {
		t.Errorf("status: %+v, %v", got.Records, err)
	}
}

// Somebody removes the record root, and somebody makes it again.
func TestStatusAndActsAreLinkedAgain(t *testing.T) {
	s := stage(t)
	s.Config.Directories.Log = filepath.Join(t.TempDir(), "log")
	s.Keep(&fakeRecords{named: map[string][]string{}})
	s.watch(10 * time.Second)
	if err := os.Mkdir(s.Config.Directories.Log, 0o700); err != nil {
		t.Fatal(err)
	}
	s.watch(10 * time.Second)
	if _, err := os.Readlink(filepath.Join(s.Config.Directories.Log, status.Name)); err != nil {
		t.Error(err)
	}
}

func TestTheSubjectOfAStepIsWhatWentDown(t *testing.T) {
	pod := node.PodName{Namespace: "a", Name: "p"}
	early := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	late := early.Add(time.Minute)
	snap := &node.Snapshot{Runtime: node.Runtime{Sandboxes: []node.Sandbox{
		{ID: "new", Pod: pod, Containers: []node.Container{{ID: "c3", Name: "c", State: node.ContainerRunning}}},
		{ID: "old", Pod: pod, Containers: []node.Container{
			{ID: "c2", Name: "c", State: node.ContainerExited, FinishedAt: early}, {ID: "c1", Name: "c", State: node.ContainerExited, FinishedAt: late},
			{ID: "d1", Name: "d", State: node.ContainerExited, FinishedAt: late}}},
	}}}
	key := restartpolicy.Key{PodName: pod, Container: "c"}
	for name, is := range map[string]struct {
		step restartpolicy.Step
		want string
	}{
		"a target":         {restartpolicy.Step{Key: key, Target: restartpolicy.Target{ContainerID: "x"}}, "x"},
		"no target":        {restartpolicy.Step{Key: key}, "c2"},
		"the old sandbox":  {restartpolicy.Step{Key: key, Target: restartpolicy.Target{SandboxID: "old"}}, "c2"},
		"the new, running": {restartpolicy.Step{Key: key, Target: restartpolicy.Target{SandboxID: "new"}}, ""},
		"a pod":            {restartpolicy.Step{Key: restartpolicy.Key{PodName: pod}}, "d1"},
		"another pod":      {restartpolicy.Step{Key: restartpolicy.Key{PodName: node.PodName{Namespace: "b", Name: "p"}}}, ""},
		"a service":        {restartpolicy.Step{Key: restartpolicy.Key{Container: "kubelet.service"}}, ""},
	} {
		if got := subject(snap, is.step); got != is.want {
			t.Errorf("%s: %q, want %q", name, got, is.want)
		}
	}
}

func TestStatusAndActsAreReadableBesideTheRecords(t *testing.T) {
	root, run, state := t.TempDir(), t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(run, status.Name), []byte("now"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, status.Name), []byte("planted"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := linkState(root, run, state); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(filepath.Join(root, status.Name)); err != nil || string(data) != "now" {
			t.Errorf("%q, %v", data, err)
		}
	}
}
