package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
	"github.com/nodekeeper/nodekeeper/test/node"
)

// hooked starts and stops the agent once, which leaves its hook in place.
func hooked(t *testing.T, options node.Options) *scene {
	s := stage(t, options)
	s.agent()
	s.eventually(30*time.Second, "the hook is installed", func() bool {
		_, err := s.box.ReadFile("/run/containers/oci/hooks.d/50-nodekeeper.json")
		return err == nil
	})
	return s
}

// brief is a pod that dies 20 ms after its start.
func brief() podSpec {
	return podSpec{name: "brief", revision: "1", containers: []container{{name: "main", args: []string{"--exit", "3", "--after", "20ms"}}}}
}

// Six short lives while no agent is there; the kubelet has deleted all but the
// last by the time one comes.
func TestHookWithoutAgent(t *testing.T) {
	labelled(t, records)
	s := hooked(t, node.Options{KubeletConfig: quickBackOff})
	s.must(s.box.StopAgent(s.ctx), "stop the agent")
	s.put(brief())
	s.eventually(2*time.Minute, "six lives are over", func() bool {
		all, err := s.box.Containers(s.ctx, "brief-node1")
		return err == nil && len(all) > 0 && all[len(all)-1].Attempt >= 6
	})
	if active, _ := s.box.UnitProperty(s.ctx, node.Agent, "ActiveState"); active != "inactive" {
		t.Errorf("the agent is %s: a hook must not start it", active)
	}
	s.must(s.box.StartAgent(s.ctx), "start the agent")
	s.eventually(time.Minute, "they are recorded", func() bool { return len(s.records("brief", "main")) >= 6 })
	for _, e := range s.records("brief", "main")[:5] {
		if e.Class != record.LostExit && e.Class != record.Crash {
			t.Errorf("attempt %d: class %s", e.Attempt.Attempt, e.Class)
		}
		if got := s.logs(e); !strings.Contains(got, "exit 3 as told") {
			t.Errorf("attempt %d: %q", e.Attempt.Attempt, got)
		}
	}
	s.say("crashes:\n%s", s.nodekeeper("crashes"))
}

// crowd is a pod of many containers.
func crowd(containers int) podSpec {
	p := podSpec{name: "crowd", revision: "1"}
	for n := range containers {
		p.containers = append(p.containers, container{name: fmt.Sprintf("c%02d", n)})
	}
	return p
}

// A hundred containers start while the agent is stopped in mid-air and its
// socket fills up: all of them start, none of them late, and all are recorded
// once it goes on.
func TestHundredStartsWithAHungAgent(t *testing.T) {
	labelled(t, records, disruptive)
	s := hooked(t, node.Options{})
	s.must(s.box.SignalUnit(s.ctx, node.Agent, syscall.SIGSTOP), "stop the agent")
	for n := range 5 {
		p := crowd(20)
		p.name = fmt.Sprintf("crowd%d", n)
		s.put(p)
	}
	s.eventually(4*time.Minute, "all hundred run", func() bool {
		all, err := s.box.ContainerRecords(s.ctx, "")
		running := 0
		for _, c := range all {
			if strings.HasPrefix(c.Name, "c") && c.Running() {
				running++
			}
			if c.Attempt > 0 {
				t.Fatalf("container %s was started twice", c.Name)
			}
		}
		return err == nil && running == 100
	})
	s.must(s.box.SignalUnit(s.ctx, node.Agent, syscall.SIGCONT), "let it go on")
	s.eventually(time.Minute, "all hundred are followed", func() bool { return len(s.index().Live) == 100 })
	var late []string
	for _, l := range s.index().Live {
		if l.By != record.SourceHook {
			late = append(late, fmt.Sprintf("%s/%s was born by %s", l.Pod, l.Container, l.By))
		}
	}
	// The hook holds up no container for longer than its limit, which a busy
	// machine lets pass: it says so each time, and the agent follows those anyway.
	journal, _, err := s.box.Exec(s.ctx, "journalctl", "--no-pager", "--identifier=nodekeeper-hook")
	s.must(err, "read what the hook wrote")
	if n := strings.Count(journal, "gave up after"); len(late) > n {
		t.Errorf("the hook gave up %d times, and yet %d were not told by it: %s", n, len(late), strings.Join(late, ", "))
	}
}

// Containers start while the agent is restarted again and again: none fails, and
// all are followed in the end.
func TestStartsWhileTheAgentRestarts(t *testing.T) {
	labelled(t, records)
	s := hooked(t, node.Options{})
	s.put(crowd(40))
	s.eventually(2*time.Minute, "all forty run", func() bool {
		if _, err := s.box.Systemctl(s.ctx, "restart", node.Agent); err != nil {
			t.Errorf("restart the agent: %v", err)
		}
		all, err := s.box.ContainerRecords(s.ctx, "crowd-node1")
		running := 0
		for _, c := range all {
			if c.Attempt > 0 {
				t.Fatalf("container %s was started twice", c.Name)
			}
			if c.Running() {
				running++
			}
		}
		return err == nil && running == 40
	})
	s.eventually(time.Minute, "all forty are followed", func() bool { return len(s.index().Live) == 40 })
}

// What the hook writes to is broken in each way that is to be feared: no
// container fails to start.
func TestHookOnABrokenDisk(t *testing.T) {
	labelled(t, records, disruptive)
	for name, breakIt := range map[string]string{
		"read-only":   "mount -t tmpfs -o ro tmpfs /var/log/nodekeeper",
		"full":        "mount -t tmpfs -o size=64k tmpfs /var/log/nodekeeper && (cat /dev/zero > /var/log/nodekeeper/fill || true)",
		"no inodes":   "mount -t tmpfs -o nr_inodes=2 tmpfs /var/log/nodekeeper; touch /var/log/nodekeeper/x",
		"a file":      "mv /var/log/nodekeeper /var/log/nodekeeper.away && touch /var/log/nodekeeper",
		"a dead link": "mv /var/log/nodekeeper /var/log/nodekeeper.away && ln -s /nowhere/at/all /var/log/nodekeeper",
		"live a FIFO": "rm -rf /var/log/nodekeeper/.live && mkfifo /var/log/nodekeeper/.live",
		"no spool":    "rm -rf /run/nodekeeper/spool && mkfifo /run/nodekeeper/spool",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := hooked(t, node.Options{})
			s.must(s.box.StopAgent(s.ctx), "stop the agent")
			if _, stderr, err := s.box.Exec(s.ctx, "sh", "-c", breakIt); err != nil {
				t.Fatalf("break it: %v %s", err, stderr)
			}
			s.run(app("1"))
			c := s.running("app", "main")
			if c.Attempt != 0 {
				t.Errorf("attempt %d runs: a start has failed", c.Attempt)
			}
			s.must(s.box.StartAgent(s.ctx), "start the agent")
			s.eventually(time.Minute, "the agent guards all the same", func() bool { return s.says(restartpolicy.Healthy, "main") })
		})
	}
}
