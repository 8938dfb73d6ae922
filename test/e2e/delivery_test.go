package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/test/node"
)

// An empty node gets its pool's MachineConfigs, boots again, pulls the image by
// digest with its pull secret, and the agent runs from there. The next boot needs
// no registry. Then the settings change, without a reboot.
func TestDelivery(t *testing.T) {
	labelled(t, delivery)
	m := joined(t, node.Options{})
	image := builtImage(t)
	version := builtVersion(t, image)
	m.install(m.images.pushIndex(t, image), "--features", "restart,logs")
	if !m.rollOut() {
		t.Error("new units came without a reboot")
	}
	m.runs(version)
	m.serves()
	// systemd breaks a ring by leaving a unit out, another one at each boot.
	if _, said, _ := m.box.Exec(m.ctx, "systemd-analyze", "verify", "--man=no", "default.target"); strings.Contains(said, "cycle") {
		t.Errorf("systemd: %s", said)
	}
	m.eventually(30*time.Second, "the hook is installed", func() bool {
		_, err := m.box.ReadFile("/run/containers/oci/hooks.d/50-nodekeeper.json")
		return err == nil
	})
	if stamp, err := m.box.ReadFile("/var/lib/nodekeeper/installed"); err != nil || !strings.Contains(string(stamp), version) {
		t.Errorf("stamp %q, %v", stamp, err)
	}
	m.say("%d requests at the registry", m.images.requests())

	m.registry.SetDown(true)
	m.boot()
	m.runs(version)
	if n := m.images.requests(); n != 0 {
		t.Errorf("%d requests at the registry although all is in place", n)
	}
	m.must(m.daemon.CheckDrift(), "after two boots")

	before := m.agentStart()
	m.settle(configuration(nil))
	if m.rollOut() {
		t.Error("other settings needed a reboot")
	}
	m.eventually(30*time.Second, "the agent has begun anew", func() bool { return m.agentStart() != before })
	m.runs(version)
	if out := m.nodekeeper("status"); strings.Contains(strings.ToLower(out), "dry run") {
		t.Errorf("the new settings do not hold:\n%s", out)
	}
	m.must(m.daemon.CheckDrift(), "after the settings were changed")
}

// agentStart tells one run of the agent from another.
func (m *member) agentStart() string {
	m.Helper()
	pid, err := m.box.UnitProperty(m.ctx, node.Agent, "MainPID")
	m.must(err, "ask for the agent's process")
	return pid
}

// On a node that got its agent by MachineConfigs, out of the image, the cases of
// the restart guarantee and of the crash records hold, unchanged: this program
// runs them once more with -delivered.
func TestCasesOnADeliveredNode(t *testing.T) {
	labelled(t, delivery)
	dir, err := builtLayout()
	if err != nil {
		t.Fatalf("build the image: %v", err)
	}
	cases := []string{"TestLostExit", "TestKubeletHangs", "TestRecordsOfACrashLoop", "TestHookWithoutAgent"}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.count=1", "-test.timeout=20m", "-test.parallel=4",
		"-test.run=^("+strings.Join(cases, "|")+")$", "-label-filter=!"+delivery, "-delivered")
	command.Env = append(os.Environ(), "NODEKEEPER_IMAGE="+dir)
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = command.Stdout
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	passed := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		t.Log(lines.Text())
		if strings.HasPrefix(lines.Text(), "--- PASS: ") {
			passed++
		}
	}
	if err := command.Wait(); err != nil || passed != len(cases) {
		t.Errorf("%d of %d cases passed: %v", passed, len(cases), err)
	}
}

// The image changes: a newer one comes without a reboot; one that cannot be had
// and one that does not run leave the node as it is, also over a boot; and the
// first one comes back.
func TestUpgrades(t *testing.T) {
	labelled(t, delivery)
	m := joined(t, node.Options{})
	image := builtImage(t)
	old, fresh := builtVersion(t, image), "v99.0.0-new"
	reference := m.images.pushIndex(t, image)
	m.install(reference)
	m.rollOut()
	m.runs(old)
	m.run(app("1"))
	main := m.running("app", "main")

	newer := m.images.push(t, builtWith(t, fresh))
	m.upgrade(newer, false)
	m.runs(fresh)
	m.say("upgraded to %s", fresh)

	m.registry.SetDown(true)
	m.upgrade(repository+"@sha256:"+strings.Repeat("9", 64), true)
	m.runs(fresh)
	m.untouched(main)
	m.boot()
	m.runs(fresh)
	m.serves()
	m.installerSaid(10*time.Second, "stays")
	m.registry.SetDown(false)

	for name, program := range map[string]string{"no program at all": "text", "a program that fails": "#!/bin/false\n"} {
		broken := t.TempDir() + "/nodekeeper"
		m.must(os.WriteFile(broken, []byte(program), 0o755), "write "+name)
		m.upgrade(m.images.push(t, imageOf(t, map[string]string{"nodekeeper": broken, "nodekeeper-hook": broken})), true)
		m.runs(fresh)
		m.installerSaid(10*time.Second, "do not work")
		m.say("%s: %s stays", name, fresh)
	}
	m.boot()
	m.runs(fresh)
	m.serves()

	m.upgrade(reference, false)
	m.runs(old)
	m.say("rolled back to %s", old)
	m.must(m.daemon.CheckDrift(), "at last")
}

// upgrade names another image for the pool.
func (m *member) upgrade(reference string, stays bool) {
	m.Helper()
	before, began := m.agentStart(), time.Now()
	m.render(reference, "--step", "upgrade")
	if m.rollOut() {
		m.Error("another image needed a reboot")
	}
	m.say("the installer took %.1f s", time.Since(began).Seconds())
	if after := m.agentStart(); stays && after != before {
		m.Errorf("the agent was restarted for nothing: %s, %s", before, after)
	}
}

// Uninstalled, in the two steps that the guide names: nothing is left but the
// records, CRI-O and the kubelet start, and containers that still name the hook
// can be removed.
func TestUninstall(t *testing.T) {
	labelled(t, delivery)
	for name, reboots := range map[string]bool{"with two reboots": true, "with one reboot": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			uninstalled(t, reboots)
		})
	}
}

func uninstalled(t *testing.T, reboots bool) {
	m := joined(t, node.Options{})
	reference := m.images.pushIndex(t, builtImage(t))
	m.install(reference)
	m.rollOut()
	m.eventually(time.Minute, "the hook is installed", func() bool {
		_, err := m.box.ReadFile(hookFile)
		return err == nil
	})
	m.run(app("1"))
	dead := m.kill("app", "main")
	m.recorded(time.Minute, "app", dead)
	m.back(time.Minute, "app", dead)

	m.render(reference, "--step", "inert")
	m.remove("99-worker-nodekeeper-config")
	if !m.rollOut() {
		t.Error("the inert step needs a reboot")
	}
	m.serves()
	m.eventually(2*time.Minute, "app/main runs without the hook", func() bool {
		_, err := m.box.RunningContainer(m.ctx, "app-node1", "main")
		return err == nil
	})
	m.removeDead()
	m.must(m.daemon.CheckDrift(), "after the inert step")

	m.render(reference, "--step", "uninstall")
	if !reboots {
		m.policy = m.rendered
	}
	m.remove("99-worker-nodekeeper")
	if m.rollOut() != reboots {
		t.Errorf("rebooted: %v", !reboots)
	}
	m.serves()
	if !reboots {
		// Until then systemd remembers a unit that has run.
		m.boot()
		m.serves()
	}
	if left := m.left(); left != "" {
		t.Errorf("left on the node:\n%s", left)
	}
	if len(m.index().Records) == 0 {
		t.Error("the records are gone")
	}
}

// removeDead removes all containers that have ended.
func (m *member) removeDead() {
	m.Helper()
	out, stderr, err := m.box.Exec(m.ctx, "sh", "-c", "crictl ps --all --quiet --state exited | xargs --no-run-if-empty crictl rm")
	if err != nil {
		m.Errorf("containers of before cannot be removed: %v %s %s", err, out, stderr)
	}
	m.say("removed dead containers: %d", len(strings.Fields(out)))
}

// Containers that were made with the hook can be removed when the hook, its
// program and the agent are no longer there.
func TestContainersOutliveTheHook(t *testing.T) {
	labelled(t, delivery)
	s := hooked(t, node.Options{})
	s.run(app("1"))
	c := s.running("app", "main")
	s.must(s.box.StopAgent(s.ctx), "stop the agent")
	s.shell("rm " + hookFile + " " + node.HookProgram + " " + node.AgentProgram)
	config, _, err := s.box.Exec(s.ctx, "sh", "-c", "cat /run/containers/storage/overlay-containers/"+c.ID+"/userdata/config.json")
	if err != nil || !strings.Contains(config, node.HookProgram) {
		t.Fatalf("the container does not name the hook: %v", err)
	}
	s.shell("crictl stop --timeout 2 " + c.ID + " && crictl rm " + c.ID)
	next := s.back(time.Minute, "app", c)
	s.say("%s was removed, attempt %d runs", c.ID[:12], next.Attempt)
}

// left lists what is of nodekeeper's on the node, but for the records, the
// machine-config-daemon's empty folders, and the image, which the kubelet
// collects when it needs the room.
func (m *member) left() string {
	m.Helper()
	out, _, err := m.box.Exec(m.ctx, "sh", "-c", `find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /etc/machine-config-daemon -o -path `+
		record.DefaultRoot+` \) -prune -o -iname '*nodekeeper*' -print
find /run /var/lib/kubelet -xdev -iname '*nodekeeper*'
systemctl list-units --all --no-legend 'nodekeeper*'`)
	m.must(err, "look for what is left")
	return strings.TrimSpace(out)
}

// With the feature proxy, the kubelet goes through the watch guard from the first
// boot on, and directly again once the pool is inert.
func TestDeliveredProxy(t *testing.T) {
	labelled(t, delivery, guard)
	m := joined(t, node.Options{Kubeconfig: node.APIOpen})
	reference := m.images.pushIndex(t, builtImage(t))
	m.install(reference, "--features", "restart,logs,proxy")
	m.settle(configuration([]string{"proxy: {kubeconfig: " + node.KubeletKubeconfig + ", certificates: " + node.KubeletPKI + "}"}))
	m.rollOut()
	m.eventually(time.Minute, "the kubelet goes through the proxy", func() bool {
		active, _ := m.box.UnitProperty(m.ctx, node.Proxy, "ActiveState")
		return active == "active" && m.throughProxy()
	})
	m.renews()
	m.must(m.daemon.CheckDrift(), "with the proxy")

	m.render(reference, "--step", "inert")
	m.remove("99-worker-nodekeeper-config", "99-worker-nodekeeper-proxy")
	m.rollOut()
	m.renews()
	if m.throughProxy() {
		t.Error("the kubelet still goes through the proxy")
	}
}

// throughProxy tells whether the kubelet was started with the proxy's kubeconfig.
func (m *member) throughProxy() bool {
	out, _, err := m.box.Exec(m.ctx, "sh", "-c", "tr '\\0' ' ' < /proc/$(pidof kubelet)/cmdline")
	return err == nil && strings.Contains(out, "--kubeconfig=/run/nodekeeper/kubeconfig")
}

// renews waits until the kubelet has renewed its lease at the API server.
func (m *member) renews() {
	m.Helper()
	asked := time.Now()
	m.eventually(2*time.Minute, "the kubelet renews its lease", func() bool {
		response, err := m.box.APIClient().Get(node.APIURL + "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/" + m.box.Name)
		if err != nil {
			return false
		}
		defer response.Body.Close()
		var lease struct{ Spec struct{ RenewTime time.Time } }
		return json.NewDecoder(response.Body).Decode(&lease) == nil && lease.Spec.RenewTime.After(asked)
	})
}
