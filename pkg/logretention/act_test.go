package logretention

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

func TestARecordForAnAct(t *testing.T) {
	s := newScene(t)
	s.start()
	p := s.newPod("etcd", "uid1")
	dead, alive := p.run("etcd", 0), p.run("metrics", 0)
	s.look()
	s.lock.Lock()
	s.cri[dead.id].Process = node.Process{PID: 1, State: node.ProcessGone, CgroupEmpty: true}
	s.lock.Unlock()
	s.look()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	path, ok := s.keeper.Record(ctx, dead.id)
	if e := dead.recorded(); !ok || path != e.Path || e.Class != record.LostExit {
		t.Errorf("dead: %q %t, %+v", path, ok, e.Meta)
	}
	path, ok = s.keeper.Record(ctx, alive.id)
	if !ok || path != record.LivePath(alive.id) {
		t.Errorf("alive: %q %t", path, ok)
	}
	s.keeper.NameAct(path, "act-8")
	s.settle()
	alive.exit(143)
	s.look()
	e := alive.recorded()
	alive.want(e, record.KilledByKubelet, 143)
	if len(e.Acts) != 1 || !strings.Contains(e.ClassReason, "act-8") {
		t.Errorf("%+v", e.Meta)
	}
	if path, ok := s.keeper.Record(ctx, "nobody"); ok {
		t.Errorf("nobody: %q", path)
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	s.stop()
	if path, ok := s.keeper.Record(over, alive.id); ok {
		t.Errorf("without time: %q", path)
	}
}
