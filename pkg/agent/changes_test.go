package agent

import (
	"errors"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

func TestChangesAreLoggedOnce(t *testing.T) {
	s := stage(t)
	s.watch(time.Minute)
	if s.logged("verdict") != 0 {
		t.Errorf("a healthy node:\n%s", s.log.String())
	}
	s.node = stale()
	s.watch(20 * time.Second)
	if s.logged("verdict changed", "verdict=stale-running", "was=healthy", "pod=etcd-n1", "container=etcd") != 1 {
		t.Errorf("a dead container:\n%s", s.log.String())
	}
	s.node = healthy()
	s.watch(20 * time.Second)
	if s.logged("verdict changed") != 2 || s.logged("verdict=healthy", "was=stale-running") != 1 {
		t.Errorf("alive again:\n%s", s.log.String())
	}
}

func TestASourceThatDoesNotAnswerIsToldOnceAndNotForEachPod(t *testing.T) {
	s := stage(t)
	s.watch(10 * time.Second)
	s.node.Runtime = node.Runtime{Err: errors.New("context deadline exceeded"), Unit: healthy().Runtime.Unit}
	s.watch(30 * time.Second)
	s.node = healthy()
	s.watch(30 * time.Second)
	if s.logged("cannot see", "CRI") != 1 || s.logged("works again", "CRI") != 1 || s.logged("pod=etcd-n1") != 0 {
		t.Errorf("log:\n%s", s.log.String())
	}
}

func TestEvidenceOfAnOldGenerationIsSavedOnce(t *testing.T) {
	s := stage(t)
	s.watch(time.Minute)
	old := s.node.Runtime.Sandboxes[0]
	old.ID, old.UID = "sandbox-0", "uid-0"
	s.node.Runtime.Sandboxes = append(s.node.Runtime.Sandboxes, old)
	s.watch(30 * time.Second)
	s.start()
	s.watch(30 * time.Second)
	if len(s.saved) != 1 || s.saved[0].State != restartpolicy.TwoGenerations || s.saved[0].Target.SandboxID != "sandbox-0" {
		t.Errorf("saved %+v", s.saved)
	}
	if s.logged("evidence saved") != 1 {
		t.Errorf("log:\n%s", s.log.String())
	}
}
