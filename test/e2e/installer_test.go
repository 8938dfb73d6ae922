package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/nodekeeper/nodekeeper/test/node"
)

// trialPod is the pod of the installer's DaemonSet, with this image, as a static
// pod: its node has no controllers. With remove it is the one that takes the
// agent away, which has other arguments and more of the node's directories.
func trialPod(t *testing.T, image string, remove bool) []byte {
	t.Helper()
	read := func(name string) map[string]any {
		text, err := os.ReadFile(filepath.Join("..", "..", "manifests", "installer", name))
		if err != nil {
			t.Fatal(err)
		}
		var out map[string]any
		if err := yaml.Unmarshal(text, &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	spec := podOf(read("install/daemonset.yaml"))
	if remove {
		patch := podOf(read("remove/removal.yaml"))
		add := func(to, from map[string]any, field string) {
			to[field] = append(to[field].([]any), from[field].([]any)...)
		}
		add(spec, patch, "volumes")
		to, from := spec["initContainers"].([]any)[0].(map[string]any), patch["initContainers"].([]any)[0].(map[string]any)
		add(to, from, "volumeMounts")
		to["args"] = from["args"]
	}
	// There is no API server that could label the node.
	delete(spec, "nodeSelector")
	for _, field := range []string{"initContainers", "containers"} {
		for _, c := range spec[field].([]any) {
			c.(map[string]any)["image"] = image
		}
	}
	pod, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": spec,
		"metadata": map[string]any{"name": "trial", "namespace": "nodekeeper-installer"}})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func podOf(set map[string]any) map[string]any {
	return set["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
}

// The installer's pod puts the agent onto a node, which stays when the pod goes,
// and takes it off again.
func TestTrialInstaller(t *testing.T) {
	labelled(t, delivery)
	if *deliver {
		t.Skip("the agent has come by MachineConfigs: the installer leaves it alone")
	}
	m := join(stage(t, node.Options{}))
	image := m.images.pushIndex(t, builtImage(t))
	// It reads of the registry when it starts.
	_, err := m.box.Systemctl(m.ctx, "restart", node.CRIO)
	m.must(err, "restart CRI-O")
	ready := func(pod []byte) {
		t.Helper()
		m.must(m.box.PutManifest("trial.yaml", pod), "put the installer's pod")
		m.eventually(3*time.Minute, "the installer's pod is through", func() bool {
			_, err := m.box.RunningContainer(m.ctx, "trial-node1", "installed")
			return err == nil
		})
	}
	gone := func() {
		t.Helper()
		m.must(m.box.RemoveManifest("trial.yaml"), "remove the installer's pod")
		m.eventually(time.Minute, "the installer's pod is gone", func() bool {
			all, err := m.box.ContainerRecords(m.ctx, "trial-node1")
			return err == nil && len(all) == 0
		})
	}

	ready(trialPod(t, image, false))
	state := func() string {
		active, err := m.box.UnitProperty(m.ctx, node.Agent, "ActiveState")
		m.must(err, "ask for the agent")
		enabled, _ := m.box.UnitProperty(m.ctx, node.Agent, "UnitFileState")
		return active + ", " + enabled
	}
	if got := state(); got != "active, enabled" {
		t.Errorf("the agent is %s", got)
	}
	const hook = "/run/containers/oci/hooks.d/50-nodekeeper.json"
	m.eventually(time.Minute, "the hook is installed", func() bool {
		_, err := m.box.ReadFile(hook)
		return err == nil
	})
	if journal, err := m.box.Journal(m.ctx, node.Agent); err != nil || !strings.Contains(journal, "dry") {
		t.Errorf("the agent does not say that it only looks: %v\n%s", err, tail(journal, 10))
	}
	gone()
	if got := state(); got != "active, enabled" {
		t.Errorf("without the pod the agent is %s", got)
	}
	m.must(m.box.WriteFile("/var/log/nodekeeper/mine", []byte("mine"), 0o600), "leave a file")

	ready(trialPod(t, image, true))
	if load, err := m.box.UnitProperty(m.ctx, node.Agent, "LoadState"); err != nil || load != "not-found" {
		t.Errorf("the agent's unit is %s, %v", load, err)
	}
	for _, name := range []string{hook, node.AgentProgram, node.HookProgram, node.AgentConfig} {
		if _, err := m.box.ReadFile(name); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
	out, _, err := m.box.Exec(m.ctx, "ls", "-A", "/var/lib/nodekeeper")
	if err != nil || out != "" {
		t.Errorf("of the state is left: %s, %v", out, err)
	}
	if _, err := m.box.ReadFile("/var/log/nodekeeper/mine"); err != nil {
		t.Errorf("the records are gone: %v", err)
	}
	gone()
	m.serves()
	m.say("installed out of %s, and removed", image)
}
