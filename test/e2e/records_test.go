package e2e

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
	"github.com/nodekeeper/nodekeeper/test/node"
)

// quickBackOff lets the kubelet restart a crashed container after a second.
func quickBackOff(c map[string]any) {
	c["crashLoopBackOff"] = map[string]any{"maxContainerRestartPeriod": "1s"}
}

// Eight crashes: the first two and the last five stay, and the kubelet has kept
// but one.
func TestRecordsOfACrashLoop(t *testing.T) {
	labelled(t, records)
	s := stage(t, node.Options{KubeletConfig: quickBackOff})
	s.agent()
	const crashes = 8
	s.put(podSpec{name: "loop", revision: "1", containers: []container{{name: "main", args: []string{
		"--lines", "300", "--exit-file", "/var/flags/crash"}}}})
	truth := map[uint32]func() []byte{}
	for n := range uint32(crashes) {
		s.eventually(time.Minute, fmt.Sprintf("attempt %d runs", n), func() bool {
			c, err := s.box.RunningContainer(s.ctx, "loop-node1", "main")
			if err == nil && c.Attempt == n {
				truth[n] = s.keepTruth(c)
				return true
			}
			return false
		})
		_, _, err := s.box.Exec(s.ctx, "sh", "-c", "touch /var/flags/crash; while [ -e /var/flags/crash ]; do sleep .05; done")
		s.must(err, "crash")
	}
	var kept []record.Entry
	s.eventually(time.Minute, "seven records are left", func() bool {
		kept = s.records("loop", "main")
		return len(kept) == 7 && kept[6].Attempt.Attempt == crashes-1
	})
	var attempts []uint32
	for _, e := range kept {
		attempts = append(attempts, e.Attempt.Attempt)
		s.wantRecord(e, record.Crash, 1)
		if want := truth[e.Attempt.Attempt](); !bytes.Equal(s.kept(e), want) {
			t.Errorf("attempt %d: kept %d bytes, want these %d", e.Attempt.Attempt, len(s.kept(e)), len(want))
		}
		if e.Series.Index != int(e.Attempt.Attempt)+1 {
			t.Errorf("attempt %d is number %d of its series", e.Attempt.Attempt, e.Series.Index)
		}
	}
	if want := []uint32{0, 1, 3, 4, 5, 6, 7}; !slices.Equal(attempts, want) {
		t.Errorf("kept attempts %v, want %v", attempts, want)
	}
	if got := s.foreign(); got != "" {
		t.Errorf("below the pod logs: %s", got)
	}
	s.journalNames(kept[6])
	s.say("crashes:\n%s", s.nodekeeper("crashes"))
}

// journalNames fails unless the journal has an entry of the crash, with the
// end of its log.
func (s *scene) journalNames(e record.Entry) {
	s.Helper()
	journal, err := s.box.Journal(s.ctx, node.Agent)
	s.must(err, "journal")
	for _, want := range []string{e.ID, "exit file found"} {
		if !strings.Contains(journal, want) {
			s.Errorf("the journal does not say %q:\n%s", want, tail(journal, 20))
		}
	}
}

// A new revision, then the pod's end: the kubelet deletes each old revision's
// directory within a minute.
func TestRecordsOfARolloutAndARemoval(t *testing.T) {
	labelled(t, records)
	s := stage(t, node.Options{})
	s.agent()
	s.run(app("1"))
	s.eventually(30*time.Second, "the agent has looked at it", func() bool { return s.says(restartpolicy.Healthy, "main") })
	first := s.running("app", "main")
	firstTruth := s.keepTruth(first)
	s.put(app("2"))
	second := s.back(2*time.Minute, "app", first)
	secondTruth := s.keepTruth(second)
	e := s.recorded(30*time.Second, "app", first)
	s.wantRecord(e, record.ReplacedByRevision, 0)
	if e.Revision != "1" {
		t.Errorf("revision %q, want 1", e.Revision)
	}

	s.must(s.box.RemoveManifest("app.yaml"), "remove the manifest")
	last := s.recorded(2*time.Minute, "app", second)
	s.wantRecord(last, record.KilledByKubelet, 0)
	s.eventually(3*time.Minute, "the kubelet has deleted the pod's logs", func() bool {
		out, _, err := s.box.Exec(s.ctx, "sh", "-c", "ls -d /var/log/pods/*app* 2>/dev/null || true")
		return err == nil && strings.TrimSpace(out) == ""
	})
	if !bytes.Equal(s.kept(e), firstTruth()) || !bytes.Equal(s.kept(last), secondTruth()) {
		t.Error("a log is not what was written")
	}
	for _, e := range []record.Entry{e, last} {
		if got := s.logs(e); !strings.Contains(got, "TERM obeyed") {
			t.Errorf("logs: %q", got)
		}
	}
}

// A power cut: CRI-O forgets all containers, the files stay.
func TestRecordOfAPowerCut(t *testing.T) {
	labelled(t, records, disruptive)
	s := stage(t, node.Options{})
	s.agent()
	pod := app("1")
	pod.containers[0].args = []string{"--print", "200ms"}
	s.run(pod)
	c := s.running("app", "main")
	s.eventually(time.Minute, "the attempt is followed", func() bool {
		return slices.ContainsFunc(s.index().Live, func(l record.Live) bool { return l.ContainerID == c.ID })
	})
	truth := s.keepTruth(c)
	s.must(s.box.Crash(s.ctx), "cut the power")
	s.say("the node is back")
	e := s.recorded(2*time.Minute, "app", c)
	s.wantRecord(e, record.LostInReboot, -1)
	if !bytes.Equal(s.kept(e), truth()) {
		t.Error("the log is not what was written")
	}
	if got := s.logs(e, "--tail", "1"); !strings.HasPrefix(got, "tick ") {
		t.Errorf("logs: %q", got)
	}
}

// A reboot in good order: the containers are stopped, and CRI-O forgets them.
func TestRecordOfAReboot(t *testing.T) {
	labelled(t, records, disruptive)
	s := stage(t, node.Options{})
	s.agent()
	s.run(app("1"))
	c := s.running("app", "main")
	truth := s.keepTruth(c)
	s.must(s.box.Reboot(s.ctx), "reboot")
	s.say("the node is back")
	e := s.recorded(2*time.Minute, "app", c)
	if !e.Complete() || !bytes.Equal(s.kept(e), truth()) {
		t.Errorf("the log is not what was written; gaps %+v", e.Gaps)
	}
	if got := s.logs(e); !strings.Contains(got, "TERM obeyed") {
		t.Errorf("logs: %q", got)
	}
	second := s.running("app", "main")
	if second.ID == c.ID {
		t.Error("the container outlived the reboot")
	}
}

// flood writes more than the kubelet keeps, while it rotates.
func flood(mib int) podSpec {
	return podSpec{name: "flood", revision: "1", containers: []container{{name: "main", args: []string{
		"--burst", fmt.Sprint(mib), "--burst-rate", "6", "--exit", "4", "--after", "5s"}}}}
}

func rotating(c map[string]any) {
	c["containerLogMaxSize"], c["containerLogMaxFiles"], c["containerLogMonitorInterval"] = "5Mi", 3, "3s"
}

// A burst of 60 MiB of text: the kubelet rotates and deletes, the record has
// every line.
func TestRecordOfABurst(t *testing.T) {
	labelled(t, records)
	s := stage(t, node.Options{KubeletConfig: rotating})
	s.agent("retention: maxBytesPerRecord: 512Mi")
	s.put(flood(60))
	e := s.floodRecord()
	s.wantRecord(e, record.Crash, 4)
	if len(e.Segments) < 3 {
		t.Errorf("%d segments: the kubelet did not rotate", len(e.Segments))
	}
	const lines = 60 * ((1 << 20) / 100)
	next := 0
	for line := range strings.Lines(s.logs(e)) {
		if !strings.HasPrefix(line, "burst 0") {
			continue
		}
		if want := fmt.Sprintf("burst %09d ", next); !strings.HasPrefix(line, want) {
			t.Fatalf("line %q, want %q", line[:min(len(line), 20)], want)
		}
		next++
	}
	if next != lines {
		t.Errorf("%d lines, want %d", next, lines)
	}
	s.say("%d lines, %d bytes, %d segments", next, e.Bytes(), len(e.Segments))
}

// The same with room for 4 MiB, less than the last piece alone: the middle goes, and the record says how much
// of it.
func TestRecordOfABurstBeyondItsLimit(t *testing.T) {
	labelled(t, records)
	s := stage(t, node.Options{KubeletConfig: rotating})
	s.agent("retention: maxBytesPerRecord: 4Mi, head: 1Mi")
	s.put(flood(60))
	e := s.floodRecord()
	s.eventually(3*time.Minute, "the record is within its limit", func() bool {
		e = s.records("flood", "main")[0]
		out, _, err := s.box.Exec(s.ctx, "du", "-sk", "/var/log/nodekeeper/"+e.Path)
		var kib int
		_, scanErr := fmt.Sscan(out, &kib)
		return err == nil && scanErr == nil && kib <= 4<<10+64 && !e.Complete()
	})
	if e.Complete() || e.Class != record.Crash {
		t.Fatalf("class %s, gaps %+v", e.Class, e.Gaps)
	}
	text := s.logs(e)
	for _, want := range []string{"burst 000000000 ", "burst of 629100 lines is over", "exit 4 as told", "missing"} {
		if !strings.Contains(text, want) {
			t.Errorf("the log does not have %q", want)
		}
	}
	s.say("%d bytes, gaps %+v", e.Bytes(), e.Gaps)
}

func (s *scene) floodRecord() record.Entry {
	s.Helper()
	var first node.Container
	s.eventually(2*time.Minute, "the flood is over", func() bool {
		all, err := s.box.Containers(s.ctx, "flood-node1")
		if err != nil || len(all) == 0 {
			return false
		}
		if first = all[0]; first.Attempt != 0 {
			s.Fatalf("attempt %d is the oldest", first.Attempt)
		}
		return !first.Running()
	})
	return s.recorded(30*time.Second, "flood", first)
}

// A container that lives for 20 ms, again and again: each life is recorded,
// with what it said.
func TestRecordOfAShortLife(t *testing.T) {
	labelled(t, records)
	s := stage(t, node.Options{KubeletConfig: quickBackOff})
	s.agent()
	s.put(brief())
	s.eventually(2*time.Minute, "five lives are recorded", func() bool { return len(s.records("brief", "main")) >= 5 })
	seen := map[uint32]bool{}
	for _, e := range s.records("brief", "main") {
		seen[e.Attempt.Attempt] = true
		s.wantRecord(e, record.Crash, 3)
		if got := s.logs(e); !strings.Contains(got, "workload started") || !strings.Contains(got, "exit 3 as told") {
			t.Errorf("attempt %d: %q", e.Attempt.Attempt, got)
		}
	}
	for n := range uint32(2) {
		if !seen[n] {
			t.Errorf("attempt %d is not recorded", n)
		}
	}
}

func TestRecordOfOOM(t *testing.T) {
	labelled(t, records)
	s := stage(t, node.Options{})
	s.agent()
	// A second container without a limit leaves the pod's own group without
	// one: conmon lives there, and would be killed in the container's place.
	s.put(podSpec{name: "big", revision: "1", containers: []container{{name: "main",
		args: []string{"--allocate", "200"}, more: []string{"resources: {limits: {memory: 40Mi}}"}}, {name: "side"}}})
	s.eventually(2*time.Minute, "it is recorded", func() bool { return len(s.records("big", "main")) > 0 })
	e := s.records("big", "main")[0]
	s.wantRecord(e, record.OOM, 137)
	if !e.OOMKilled || e.Signal != 9 {
		t.Errorf("oomKilled %v, signal %d", e.OOMKilled, e.Signal)
	}
	if got := s.logs(e); !strings.Contains(got, "workload started") {
		t.Errorf("logs: %q", got)
	}
}

// The monitor and the first process die together: nobody can say the exit code,
// and the act that follows and the record name each other.
func TestRecordOfALostExit(t *testing.T) {
	labelled(t, records, disruptive)
	s := stage(t, node.Options{})
	s.run(app("1"))
	s.agent()
	c := s.running("app", "main")
	truth := s.keepTruth(c)
	s.must(s.box.KillMonitorAndInit(s.ctx, c.ID), "kill monitor and init")
	s.back(2*time.Minute, "app", c)
	e := s.recorded(30*time.Second, "app", c)
	s.wantRecord(e, record.LostExit, -1)
	if !bytes.Equal(s.kept(e), truth()) {
		t.Error("the log is not what was written")
	}
	s.eventually(30*time.Second, "record and act name each other", func() bool {
		e = s.recorded(time.Second, "app", c)
		return len(e.Acts) > 0 && slices.Equal(e.Acts, s.actsOf(e))
	})
}

// Somebody cleans up /var/log/pods: the log of a dead container that the kubelet
// still knows is put back, and plain `kubectl logs --previous` works again.
func TestALostLogIsPutBack(t *testing.T) {
	labelled(t, records)
	s := stage(t, node.Options{})
	s.agent()
	s.run(app("1"))
	dead := s.kill("app", "main")
	e := s.recorded(30*time.Second, "app", dead)
	s.back(time.Minute, "app", dead)
	_, _, err := s.box.Exec(s.ctx, "rm", e.LogPath)
	s.must(err, "remove the log")
	previous := func() string {
		_, body, err := s.box.ContainerLogs(s.ctx, "kube-system", "app-node1", "main", true)
		s.must(err, "container logs")
		return body
	}
	if got := previous(); !strings.Contains(got, "failed to try resolving symlinks") {
		t.Errorf("with the log gone: %q", got)
	}
	s.eventually(time.Minute, "the kubelet shows it again", func() bool { return strings.Contains(previous(), "workload started") })
	if got := s.foreign(); got != "" {
		t.Errorf("below the pod logs: %s", got)
	}
}
