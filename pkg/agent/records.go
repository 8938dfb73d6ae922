package agent

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/journal"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// Records keeps crash records. None of its methods may block for longer than
// its context, or than a memory access where it has none.
type Records interface {
	// Observe hands over what a look saw.
	Observe(s *node.Snapshot)
	// Record returns the record of a container that is down, made now if need
	// be: its directory below the record root.
	Record(ctx context.Context, containerID string) (path string, ok bool)
	// NameAct enters an act's ID in a record.
	NameAct(path, actID string)
	// State is for the status.
	State() status.Records
}

// Keep hands the records over, before Run, and makes status and acts readable
// beside them. They are opened after the Agent, whose lock keeps other agents
// away from them.
func (a *Agent) Keep(r Records) {
	a.records = r
	a.link()
}

// link is done with each look: somebody may have removed the record root, or
// have made room for it.
func (a *Agent) link() {
	d := a.Config.Directories
	a.changes.trouble("status and acts beside the records", linkState(d.Log, d.Run, d.State))
}

// recordTime bounds the wait for a record before an act: an act is not held
// back for a disk that hangs.
const recordTime = 5 * time.Second

// recordOf finds the record of the container that a step is about; empty if
// there is none.
func (a *Agent) recordOf(ctx context.Context, step restartpolicy.Step) string {
	id := subject(a.last.snap, step)
	if a.records == nil || id == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, recordTime)
	defer cancel()
	path, _ := a.records.Record(ctx, id)
	return path
}

// subject is the container that went down and made a step due: the target, or
// of the pod's newest records that do not run (of the target's sandbox, of the
// container that the step is about, where it names them) the one that ended
// last. Empty where there is none, as for a service.
func subject(s *node.Snapshot, step restartpolicy.Step) string {
	if step.Target.ContainerID != "" {
		return step.Target.ContainerID
	}
	var last node.Container
	for _, sandbox := range s.Runtime.Of(step.Key.PodName) {
		if step.Target.SandboxID != "" && sandbox.ID != step.Target.SandboxID {
			continue
		}
		seen := map[string]bool{}
		for _, c := range sandbox.Containers {
			newest := !seen[c.Name]
			seen[c.Name] = true
			if !newest || c.State == node.ContainerRunning || step.Key.Container != "" && c.Name != step.Key.Container {
				continue
			}
			if last.ID == "" || c.FinishedAt.After(last.FinishedAt) {
				last = c
			}
		}
	}
	return last.ID
}

// linkState makes the status and the act journal readable through the
// kubelet's /logs/ beside the records. They are links: nothing is written
// twice, and what dies with the boot is gone with the boot.
func linkState(root, run, state string) error {
	for name, target := range map[string]string{
		status.Name:  filepath.Join(run, status.Name),
		journal.Name: filepath.Join(state, journal.Name),
	} {
		link := filepath.Join(root, name)
		if old, err := os.Readlink(link); err == nil && old == target {
			continue
		}
		// Two names, so that there is never none.
		temporary := link + ".new"
		if err := os.Remove(temporary); err != nil && !os.IsNotExist(err) {
			return err
		}
		if err := os.Symlink(target, temporary); err != nil {
			return err
		}
		if err := os.Rename(temporary, link); err != nil {
			return err
		}
	}
	return nil
}
