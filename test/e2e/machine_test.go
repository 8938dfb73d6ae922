package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
	"github.com/nodekeeper/nodekeeper/test/node"
	"github.com/nodekeeper/nodekeeper/test/node/machine"
)

// stageMachine boots a virtual machine: a scene without a box.
func stageMachine(t *testing.T) (*scene, *machine.Machine) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Minute)
	t.Cleanup(cancel)
	vm, err := machine.Start(ctx, node.Options{})
	if err != nil {
		t.Fatalf("machine: %v", err)
	}
	s := &scene{T: t, on: vm, ctx: ctx, began: time.Now()}
	s.clear()
	kind, _, err := vm.Exec(ctx, "stat", "--file-system", "--format=%T", "/sys/fs/cgroup")
	s.must(err, "ask for the kind of control groups")
	s.say("machine up: accelerator %s, control groups %s", vm.Acceleration, strings.TrimSpace(kind))
	if strings.TrimSpace(kind) != "cgroup2fs" {
		t.Errorf("control groups are not of version 2")
	}
	return s, vm
}

// Control groups of version 2 driven by systemd: a lost exit is found and
// repaired, and a frozen container is only reported.
func TestUnifiedControlGroups(t *testing.T) {
	labelled(t, repair, slow)
	s, vm := stageMachine(t)
	s.run(app("1"))
	s.agent()
	main, side := s.running("app", "main"), s.running("app", "side")
	s.must(vm.KillMonitorAndInit(s.ctx, main.ID), "kill conmon and init")
	s.say("killed conmon and init of app/main")
	s.back(4*time.Minute, "app", main)
	s.untouched(side)
	s.wantActs(restartpolicy.StopContainer)

	s.must(vm.Freeze(s.ctx, side.ID), "freeze side")
	s.eventually(time.Minute, "frozen is reported", func() bool { return s.says(restartpolicy.Frozen, "side") })
	s.throughout(time.Minute, "no act", func() error { s.wantActs(restartpolicy.StopContainer); return nil })
	s.untouched(side)
}
