package e2e

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
	"github.com/nodekeeper/nodekeeper/test/node"
)

// CRI-O is stopped: it is named as the cause, and the kubelet is not restarted
// first.
func TestRuntimeHangs(t *testing.T) {
	labelled(t, repair, disruptive)
	s := standing(t, node.Options{})
	s.run(app("1"))
	s.agent()
	main, side := s.running("app", "main"), s.running("app", "side")
	s.must(s.box.SignalUnit(s.ctx, node.CRIO, syscall.SIGSTOP), "stop crio")
	s.must(s.box.Signal(s.ctx, main.PID, syscall.SIGKILL), "kill main")
	s.say("CRI-O stopped, main killed")
	s.eventually(time.Minute, "crio.service is named", func() bool { return s.says(restartpolicy.RuntimeDown, "crio.service") })
	s.back(3*time.Minute, "app", main)
	s.untouched(side)
	s.wantActs(restartpolicy.RestartRuntime)
}

// The kubelet is stopped by a signal: systemd says active, nobody answers.
func TestKubeletHangs(t *testing.T) {
	labelled(t, repair, disruptive, core)
	s := standing(t, node.Options{})
	s.run(app("1"))
	s.agent()
	side := s.running("app", "side")
	s.must(s.box.SignalUnit(s.ctx, node.Kubelet, syscall.SIGSTOP), "stop kubelet")
	dead := s.kill("app", "main")
	s.back(2*time.Minute, "app", dead)
	s.untouched(side)
	s.wantActs(restartpolicy.RestartKubelet)
}

// A kubelet that cannot start is left to systemd, which starts it again and
// again: another restart would change nothing. It is reported, and overdue.
func TestKubeletCrashLoops(t *testing.T) {
	labelled(t, quiet, disruptive)
	s := standing(t, node.Options{})
	s.run(app("1"))
	s.agent("deadlines: {kubeletDown: 10s}")
	side := s.running("app", "side")
	mend := s.breakKubelet()
	s.eventually(2*time.Minute, "it is reported", func() bool { return s.says(restartpolicy.KubeletDown, "kubelet.service") })
	s.throughout(2*time.Minute, "no act", s.noActs)
	if out, _, _ := s.box.Exec(s.ctx, node.AgentProgram, "status"); !strings.Contains(out, "systemd is at it") {
		t.Errorf("the status does not say what is missing before a step:\n%s", out)
	}
	s.untouched(side)
	mend()
	s.eventually(time.Minute, "the kubelet is healthy", func() bool { return s.says(restartpolicy.Healthy, "kubelet.service") })
	s.must(s.noActs(), "after it was mended")
}

// A kubelet that systemd has given up, for it crashed too often, is started.
func TestKubeletGivenUp(t *testing.T) {
	labelled(t, repair, disruptive)
	s := standing(t, node.Options{UnitDropIns: map[string]string{node.Kubelet: "[Unit]\nStartLimitIntervalSec=1h\nStartLimitBurst=3\n[Service]\nRestartSec=1\n"}})
	s.run(app("1"))
	s.agent()
	mend := s.breakKubelet()
	s.eventually(2*time.Minute, "systemd gives it up", func() bool {
		state, _ := s.box.UnitProperty(s.ctx, node.Kubelet, "ActiveState")
		return state == "failed"
	})
	mend()
	dead := s.kill("app", "main")
	s.back(3*time.Minute, "app", dead)
	s.wantActs(restartpolicy.RestartKubelet)
}

// breakKubelet lets every start of the kubelet fail, until undone.
func (s *scene) breakKubelet() (mend func()) {
	s.Helper()
	_, err := s.box.Systemctl(s.ctx, "stop", "kubelet")
	s.must(err, "stop kubelet")
	broken := s.box.KubeletDropInDir() + "/99-broken.conf"
	s.must(s.box.WriteFile(broken, []byte("kind: Nonsense\n"), 0o600), "break the configuration")
	_, _ = s.box.Systemctl(s.ctx, "start", "kubelet")
	return func() { s.must(s.box.RemoveFile(broken), "mend it") }
}

// An admin's systemctl stop is respected, whatever else is broken.
func TestKubeletStoppedByAdmin(t *testing.T) {
	labelled(t, quiet, disruptive)
	s := standing(t, node.Options{})
	s.run(app("1"))
	s.agent("deadlines: {firstCrash: 20s, kubeletDown: 10s, blind: 10s, staleRunning: 10s}", "looks: 1")
	_, err := s.box.Systemctl(s.ctx, "stop", "kubelet")
	s.must(err, "stop kubelet")
	s.kill("app", "main")
	s.must(s.box.KillMonitorAndInit(s.ctx, s.running("app", "side").ID), "kill side and its monitor")
	s.throughout(90*time.Second, "no act", s.noActs)
	if !s.says(restartpolicy.IntendedDown, "kubelet.service") {
		t.Errorf("the status does not say that the kubelet was stopped")
	}
}

// An admin's stop is respected, too, where CRI-O went or goes down beside it and
// comes back, by hand or by systemd.
func TestKubeletStoppedByAdminBesideItsRuntime(t *testing.T) {
	labelled(t, quiet, disruptive)
	s := standing(t, node.Options{})
	s.run(app("1"))
	s.agent("deadlines: {kubeletDown: 5s}", "looks: 1")
	for _, script := range []string{
		"systemctl stop crio && systemctl start crio",
		"systemctl stop kubelet crio && systemctl start crio",
		"systemctl stop kubelet && systemctl kill -s KILL crio",
	} {
		s.say("%s", script)
		s.shell(script)
		s.eventually(30*time.Second, "the kubelet is said to be stopped", func() bool {
			active, _ := s.box.UnitProperty(s.ctx, node.CRIO, "ActiveState")
			return active == "active" && s.says(restartpolicy.IntendedDown, "systemctl start kubelet")
		})
		s.throughout(30*time.Second, "no act", s.noActs)
		if !s.says(restartpolicy.IntendedDown, "kubelet.service") {
			t.Errorf("%s: the status does not say that the kubelet was stopped", script)
		}
		_, err := s.box.Systemctl(s.ctx, "start", node.Kubelet)
		s.must(err, "start the kubelet")
		s.kubeletAnswers()
	}
}

// CRI-O fails with the boot and starts at the second try: systemd has then given
// the kubelet up, and the agent starts it.
func TestRuntimeFailsWithTheBoot(t *testing.T) {
	labelled(t, repair, disruptive)
	failOnce := "[Service]\nRestartSec=5\nExecStartPre=/bin/sh -c 'test -e /run/tried || { touch /run/tried; test ! -e /var/fail; }'\n"
	s := standing(t, node.Options{UnitDropIns: map[string]string{node.CRIO: failOnce}})
	s.run(app("1"))
	s.agent()
	s.must(s.box.WriteFile("/var/fail", nil, 0o644), "have CRI-O fail")
	s.must(s.box.Reboot(s.ctx), "reboot, until the kubelet is back")
	s.eventually(time.Minute, "main runs again", func() bool {
		_, err := s.box.RunningContainer(s.ctx, "app-node1", "main")
		return err == nil
	})
	s.wantActs(restartpolicy.RestartKubelet)
}

// CRI-O restarted and the box rebooted: everything comes back by itself.
func TestRuntimeRestartAndReboot(t *testing.T) {
	labelled(t, quiet, disruptive)
	s := standing(t, node.Options{})
	s.run(app("1"))
	s.agent()
	_, err := s.box.Systemctl(s.ctx, "restart", "crio")
	s.must(err, "restart crio")
	s.throughout(45*time.Second, "no act after CRI-O's restart", s.noActs)
	s.must(s.box.Reboot(s.ctx), "reboot")
	s.say("rebooted")
	s.eventually(2*time.Minute, "main runs again", func() bool {
		_, err := s.box.RunningContainer(s.ctx, "app-node1", "main")
		return err == nil
	})
	s.throughout(150*time.Second, "no act after the reboot", s.noActs)
}
