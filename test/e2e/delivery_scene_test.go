package e2e

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/test/node"
	"github.com/nodekeeper/nodekeeper/test/node/mcd"
)

const (
	installer    = "nodekeeper-install.service"
	settingsUnit = "nodekeeper-settings.service"
	// installBound is how long the kubelet may wait for the installer: its unit's
	// limit. replaceBound is that where a program is in place that works: the
	// installer's own limit, and what it cleans up.
	installBound = 120 * time.Second
	replaceBound = 45 * time.Second
)

// member is a node of a pool: it takes MachineConfigs, and nothing else is
// installed on it.
type member struct {
	*scene
	images   *imageStore
	registry *node.Server
	daemon   *mcd.Daemon
	configs  []mcd.MachineConfig // what its pool has at the moment
	policy   mcd.Policy          // what the cluster has
	rendered mcd.Policy          // what goes with the configs; an admin applies it at his leisure
}

// joined boots an empty node with its pull secret, and a registry beside it.
func joined(t *testing.T, options node.Options) *member {
	t.Helper()
	options.OpenShift = true
	return join(stage(t, options))
}

func join(s *scene) *member {
	s.Helper()
	m := &member{scene: s, images: newImageStore(), daemon: mcd.New(s.box)}
	var err error
	m.registry, err = s.box.Serve(s.ctx, registryAddress, m.images)
	s.must(err, "serve a registry in the box")
	s.Cleanup(m.registry.Close)
	s.must(s.box.WriteFile("/etc/containers/registries.conf.d/50-test.conf",
		[]byte("[[registry]]\nlocation = \""+registryAddress+"\"\ninsecure = true\n"), 0o644), "allow the registry")
	secret := base64.StdEncoding.EncodeToString([]byte(pullUser + ":" + pullPassword))
	s.must(s.box.WriteFile("/var/lib/kubelet/config.json",
		fmt.Appendf(nil, `{"auths":{%q:{"auth":%q}}}`, registryAddress, secret), 0o600), "write the pull secret")
	return m
}

// install renders the pool's first MachineConfigs and takes the policy that goes
// with them.
func (m *member) install(image string, flags ...string) {
	m.Helper()
	m.render(image, flags...)
	m.policy = m.rendered
}

// render has MachineConfigs rendered for an image, by the program itself, and
// puts them into the pool, in place of those with the same names.
func (m *member) render(image string, flags ...string) {
	m.Helper()
	dir := m.TempDir()
	program := os.Getenv("NODEKEEPER_BINARY")
	args := append([]string{"render", "--role", "worker", "--image", image, "-o", dir}, flags...)
	if out, err := exec.CommandContext(m.ctx, program, args...).CombinedOutput(); err != nil {
		m.Fatalf("nodekeeper %s: %v: %s", strings.Join(args, " "), err, out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "machineconfigs", "*.yaml"))
	m.must(err, "list what was rendered")
	for _, file := range files {
		text, err := os.ReadFile(file)
		m.must(err, "read what was rendered")
		config, err := mcd.Parse(text)
		m.must(err, filepath.Base(file))
		m.remove(config.Metadata.Name)
		m.configs = append(m.configs, config)
	}
	// The inert step has none: the cluster keeps what it has.
	if text, err := os.ReadFile(filepath.Join(dir, "node-disruption-policy.yaml")); err == nil {
		m.rendered, err = mcd.ParsePolicy(text)
		m.must(err, "read the policy")
	}
}

// remove takes MachineConfigs out of the pool, if they are there.
func (m *member) remove(names ...string) {
	m.configs = slices.DeleteFunc(m.configs, func(c mcd.MachineConfig) bool { return slices.Contains(names, c.Metadata.Name) })
}

// settle replaces the settings in the pool's MachineConfigs, as an admin does
// who edits them.
func (m *member) settle(yaml string) {
	m.Helper()
	for i := range m.configs {
		if m.configs[i].SetFile(node.AgentConfig, []byte(yaml)) {
			return
		}
	}
	m.Fatalf("no MachineConfig has %s", node.AgentConfig)
}

// rollOut applies the pool's MachineConfigs, boots again if that is what has to
// follow, and tells whether it did.
func (m *member) rollOut() (rebooted bool) {
	m.Helper()
	reboot, err := m.daemon.Apply(m.ctx, mcd.Render(m.configs...), m.policy)
	m.must(err, "apply the MachineConfigs")
	if !reboot {
		m.say("applied without a reboot")
		return false
	}
	m.boot()
	return true
}

// boot boots the node again.
func (m *member) boot() {
	m.Helper()
	began := time.Now()
	m.must(m.box.Reboot(m.ctx), "reboot")
	m.say("rebooted in %.1f s; the kubelet waited %.1f s for the installer", time.Since(began).Seconds(), m.waited().Seconds())
}

// waited is how long the installer has run at this boot, which is what the
// kubelet waited for it; 0 where there is none.
func (m *member) waited() time.Duration {
	m.Helper()
	at := func(property string) int64 {
		text, err := m.box.UnitProperty(m.ctx, installer, property)
		m.must(err, "ask for the installer's times")
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0
		}
		return n
	}
	began, ended := at("ExecMainStartTimestampMonotonic"), at("ExecMainExitTimestampMonotonic")
	if began == 0 || ended < began {
		return 0
	}
	return time.Duration(ended-began) * time.Microsecond
}

// runs waits until the agent of this version is active, and looks at the node.
func (m *member) runs(version string) {
	m.Helper()
	m.eventually(45*time.Second, "nodekeeper "+version+" runs", func() bool {
		active, _ := m.box.UnitProperty(m.ctx, node.Agent, "ActiveState")
		out, _, err := m.box.Exec(m.ctx, node.AgentProgram, "version")
		return active == "active" && err == nil && strings.Contains(out, version)
	})
}

// installerSaid waits for a line of the installer.
func (m *member) installerSaid(limit time.Duration, text string) {
	m.Helper()
	m.eventually(limit, fmt.Sprintf("the installer says %q", text), func() bool {
		journal, err := m.box.Journal(m.ctx, installer)
		return err == nil && strings.Contains(journal, text)
	})
}

// serves fails unless CRI-O and the kubelet run.
func (m *member) serves() {
	m.Helper()
	for _, unit := range []string{node.CRIO, node.Kubelet} {
		if active, err := m.box.UnitProperty(m.ctx, unit, "ActiveState"); err != nil || active != "active" {
			m.Errorf("%s is %s (%v)", unit, active, err)
		}
	}
	m.must(m.box.Healthz(m.ctx), "the kubelet's healthz")
}

// delivered is the ground of other cases where the agent comes by rendered
// MachineConfigs, out of an image.
type delivered struct {
	*node.Box
	*member
}

// Stop ends the box.
func (d delivered) Stop() error { return d.Box.Stop() }

// InstallAgent delivers the agent with this configuration, boots the node again
// and waits until all that ran before runs again.
func (d delivered) InstallAgent(ctx context.Context, _, configYAML string) error {
	d.Helper()
	before, err := d.Box.ContainerRecords(ctx, "")
	if err != nil {
		return err
	}
	if len(d.configs) == 0 {
		d.install(d.images.pushIndex(d.T, builtImage(d.T)), "--features", "restart,logs")
	}
	d.settle(configYAML)
	d.rollOut()
	running := func(list []node.Container) (n int) {
		for _, c := range list {
			if c.Running() {
				n++
			}
		}
		return n
	}
	d.eventually(2*time.Minute, "all containers run after the reboot", func() bool {
		now, err := d.Box.ContainerRecords(ctx, "")
		return err == nil && running(now) >= running(before)
	})
	return nil
}

// StartAgent waits until the agent, which nobody has to start, is ready.
func (d delivered) StartAgent(context.Context) error {
	d.Helper()
	d.eventually(30*time.Second, "the agent runs", func() bool {
		active, _ := d.Box.UnitProperty(d.ctx, node.Agent, "ActiveState")
		return active == "active"
	})
	return nil
}
