package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
	"github.com/nodekeeper/nodekeeper/test/node"
)

const hookFile = "/run/containers/oci/hooks.d/50-nodekeeper.json"

// The hook's file is broken in each way over which CRI-O would not start. The
// agent says so and writes it again, and CRI-O starts; without an agent the file
// is gone with the next boot.
func TestBrokenHookFile(t *testing.T) {
	labelled(t, delivery, disruptive)
	s := hooked(t, node.Options{})
	whole, err := s.box.ReadFile(hookFile)
	s.must(err, "read the hook's file")
	edited := func(from, to string) string {
		text := strings.Replace(string(whole), from, to, 1)
		if text == string(whole) {
			t.Fatalf("%q is not in the hook's file", from)
		}
		return text
	}
	for _, c := range []struct{ name, text, says string }{
		{"no JSON", "{", "unexpected end of JSON"},
		{"empty", "", "unexpected end of JSON"},
		{"an unknown version", edited(`"1.0.0"`, `"9.9.9"`), "unrecognized hook version"},
		{"an unknown stage", edited("createRuntime", "someday"), "unknown stage"},
		{"a bad expression", edited("^file$", "("), "error parsing regexp"},
	} {
		began := time.Now()
		s.must(s.box.WriteFile(hookFile, []byte(c.text), 0o644), c.name)
		s.agentSaid(c.says)
		s.eventually(10*time.Second, c.name+": the file is whole again", func() bool {
			now, err := s.box.ReadFile(hookFile)
			return err == nil && string(now) == string(whole)
		})
		s.say("%s: mended after %.1f s", c.name, time.Since(began).Seconds())
		_, err := s.box.Systemctl(s.ctx, "restart", node.CRIO)
		s.must(err, c.name+": restart CRI-O")
		s.kubeletAnswers()
	}
	s.must(s.box.StopAgent(s.ctx), "stop the agent")
	s.must(s.box.WriteFile(hookFile, []byte("{"), 0o644), "break it")
	s.must(s.box.Reboot(s.ctx), "reboot over a broken file")
	s.eventually(time.Minute, "the hook is installed again", func() bool {
		now, err := s.box.ReadFile(hookFile)
		return err == nil && string(now) == string(whole)
	})
}

// CRI-O is restarted before the agent has seen the damage, and fails. It is tried
// again as on a real node, and runs once the file is whole. systemd has stopped the
// kubelet along with it, and does not start it again: the agent does.
func TestBrokenHookFileAtOnce(t *testing.T) {
	labelled(t, delivery, disruptive)
	s := hooked(t, node.Options{UnitDropIns: map[string]string{node.CRIO: "[Service]\nRestartSec=10\n"}})
	s.run(app("1"))
	main := s.running("app", "main")
	s.must(s.box.WriteFile(hookFile, []byte("{"), 0o644), "break the hook's file")
	if _, err := s.box.Systemctl(s.ctx, "restart", node.CRIO); err == nil {
		t.Fatal("CRI-O starts over a broken file: there is nothing to show")
	}
	if active, _ := s.box.UnitProperty(s.ctx, node.Kubelet, "ActiveState"); active != "inactive" {
		t.Fatalf("the kubelet is %s: there is nothing to show", active)
	}
	s.agentSaid("was damaged")
	s.eventually(time.Minute, "CRI-O runs again", func() bool {
		active, _ := s.box.UnitProperty(s.ctx, node.CRIO, "ActiveState")
		return active == "active"
	})
	s.eventually(30*time.Second, "the kubelet is said to be down", func() bool { return s.says(restartpolicy.KubeletDown, "requires did not start") })
	s.eventually(3*time.Minute, "the agent has started the kubelet", s.up)
	s.eventually(time.Minute, "all is well", func() bool { return s.says(restartpolicy.Healthy, "kubelet.service") })
	s.wantActs(restartpolicy.RestartKubelet)
	s.untouched(main)
}

// The hook's program is missing, or cannot be run: every container that the hook
// matches would fail. The agent takes the hook away, says so, static pods start,
// and the hook is back when its program is.
func TestBrokenHookProgram(t *testing.T) {
	labelled(t, delivery, disruptive)
	s := hooked(t, node.Options{})
	for name, c := range map[string]struct{ harm, mend, says string }{
		"missing":        {"mv PROGRAM /var/kept", "mv /var/kept PROGRAM", "no such file"},
		"not executable": {"chmod 0644 PROGRAM", "chmod 0755 PROGRAM", "is not executable"},
	} {
		s.shell(strings.ReplaceAll(c.harm, "PROGRAM", node.HookProgram))
		s.agentSaid(c.says)
		s.eventually(10*time.Second, name+": the hook is taken away", func() bool {
			_, err := s.box.ReadFile(hookFile)
			return err != nil
		})
		p := app("1")
		p.name = "app-" + strings.ReplaceAll(name, " ", "-")
		s.run(p)
		if c := s.running(p.name, "main"); c.Attempt != 0 {
			t.Errorf("%s: attempt %d runs", name, c.Attempt)
		}
		_, err := s.box.Systemctl(s.ctx, "restart", node.CRIO)
		s.must(err, name+": restart CRI-O")
		s.kubeletAnswers()
		s.shell(strings.ReplaceAll(c.mend, "PROGRAM", node.HookProgram))
		s.eventually(30*time.Second, name+": the hook is back", func() bool {
			_, err := s.box.ReadFile(hookFile)
			return err == nil
		})
	}
}

// Beside others: a file of somebody else's over which CRI-O will not start is
// named, and left alone; with the directory made anew nothing stops either.
func TestOthersHookFiles(t *testing.T) {
	labelled(t, delivery, disruptive)
	s := hooked(t, node.Options{})
	s.must(s.box.WriteFile("/etc/containers/oci/hooks.d/10-other.json", []byte(`{"version": "1.0.0"`), 0o644), "another's file")
	s.eventually(30*time.Second, "it is named", func() bool {
		return strings.Contains(s.nodekeeper("status", "-o", "json"), "10-other.json keeps CRI-O from starting")
	})
	s.must(s.box.RemoveFile("/etc/containers/oci/hooks.d/10-other.json"), "take it away")
	s.shell("rm -r /run/containers/oci/hooks.d && mkdir /run/containers/oci/hooks.d")
	s.agentSaid("is missing")
	_, err := s.box.Systemctl(s.ctx, "restart", node.CRIO)
	s.must(err, "restart CRI-O")
	s.kubeletAnswers()
}

// Settings that cannot be meant, by MachineConfig: what runs goes on with those
// that it has, and the place is named. After a boot the agent says so and does not
// run, CRI-O and the kubelet do; with right settings it is back.
func TestBrokenSettings(t *testing.T) {
	labelled(t, delivery, disruptive)
	m := joined(t, node.Options{})
	image := builtImage(t)
	m.install(m.images.pushIndex(t, image))
	m.rollOut()
	m.runs(builtVersion(t, image))
	before := m.agentStart()
	for _, c := range []struct{ name, text, says string }{
		{"an unknown field", settings + "  jiter: 1s\n", "jiter"},
		{"a value that cannot be meant", strings.Replace(settings, "interval: 2s", "interval: -2s", 1), "interval"},
		{"no YAML", "apiVersion: [", "yaml"},
		{"empty", "", "apiVersion"},
	} {
		m.settle(c.text)
		if m.rollOut() {
			t.Errorf("%s: rebooted", c.name)
		}
		m.unitSaid(settingsUnit, c.says)
		if after := m.agentStart(); after != before {
			t.Errorf("%s: the agent was restarted into them", c.name)
		}
	}
	m.boot()
	m.serves()
	m.agentSaid("apiVersion")
	m.settle(configuration(nil))
	m.rollOut()
	m.runs(builtVersion(t, image))
}

// Units that systemd cannot read: CRI-O and the kubelet start, and systemd says
// what is wrong. With the right ones again the agent is back.
func TestBrokenUnits(t *testing.T) {
	labelled(t, delivery, disruptive)
	m := joined(t, node.Options{})
	image := builtImage(t)
	reference := m.images.pushIndex(t, image)
	for unit, text := range map[string]string{
		node.Agent:          "[Unit]\nAfter=crio.service\n[Service]\nType=notify\n[Install]\nWantedBy=multi-user.target\n",
		installer:           "[Unit]\nBefore=kubelet-dependencies.target\n[Service]\nType=oneshoot\nExecStart=no/path\n[Install]\nWantedBy=kubelet-dependencies.target\n",
		"nodekeeper.socket": "[Socket]\nListenStream=\n[Install]\nWantedBy=sockets.target\n",
	} {
		m.install(reference)
		found := false
		for i := range m.configs {
			found = m.configs[i].SetUnit(unit, text) || found
		}
		if !found {
			t.Fatalf("no MachineConfig has %s", unit)
		}
		m.rollOut()
		m.serves()
		state, err := m.box.UnitProperty(m.ctx, unit, "LoadState")
		m.must(err, "state of "+unit)
		m.say("%s: %s", unit, state)
		if state != "bad-setting" && state != "error" {
			t.Errorf("%s was to be broken, and is %s", unit, state)
		}
	}
	m.render(reference)
	m.rollOut()
	m.runs(builtVersion(t, image))
}

// agentSaid waits for words in the agent's journal.
func (s *scene) agentSaid(text string) {
	s.Helper()
	s.unitSaid(node.Agent, text)
}

func (s *scene) unitSaid(unit, text string) {
	s.Helper()
	s.eventually(30*time.Second, fmt.Sprintf("%s says %q", unit, text), func() bool {
		journal, err := s.box.Journal(s.ctx, unit)
		return err == nil && strings.Contains(journal, text)
	})
}

// kubeletAnswers waits until kubelet and CRI-O are there after a restart.
func (s *scene) kubeletAnswers() {
	s.Helper()
	s.eventually(time.Minute, "CRI-O and the kubelet run", s.up)
}

// up tells whether CRI-O and the kubelet run.
func (s *scene) up() bool {
	for _, unit := range []string{node.CRIO, node.Kubelet} {
		if active, _ := s.box.UnitProperty(s.ctx, unit, "ActiveState"); active != "active" {
			return false
		}
	}
	return s.box.Healthz(s.ctx) == nil
}

func (s *scene) shell(script string) {
	s.Helper()
	if out, stderr, err := s.box.Exec(s.ctx, "sh", "-c", script); err != nil {
		s.Fatalf("%s: %v %s %s", script, err, out, stderr)
	}
}
