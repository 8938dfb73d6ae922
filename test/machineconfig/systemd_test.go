package machineconfig

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coreos/ignition/v2/config/v3_2/types"

	"github.com/nodekeeper/nodekeeper/pkg/machineconfig"
)

// exposure is the most that systemd-analyze security may give a service, in
// tenths of its points (10.0 is a service without any restriction). Those that
// are not here run podman or systemctl for a moment, with root's rights.
var exposure = map[string]string{
	"nodekeeper.service":       "40",
	"nodekeeper-proxy.service": "35",
}

// analyzer is systemd-analyze.
func analyzer(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not there: the units are not checked by it")
	}
	return path
}

// node has the units of an OpenShift node that matter to the order of its boot
// (machine-config-operator templates/common/_base/units), and those of systemd.
var node = map[string]string{
	"sysinit.target": "", "basic.target": "", "shutdown.target": "", "umount.target": "", "sockets.target": "", "network-online.target": "",
	"firstboot-osupdate.target": "", "system.slice": "", "-.slice": "",
	"multi-user.target":           "Wants=kubelet.service crio.service sockets.target\n",
	"kubelet-dependencies.target": "Wants=crio-wipe.service network-online.target\n",
	"crio-wipe.service":           "Before=crio.service\n[Service]\nType=oneshot\nExecStart=/bin/true\n",
	"crio.service":                "Requires=kubelet-dependencies.target\nAfter=kubelet-dependencies.target\n[Service]\nExecStart=/bin/true\n",
	"kubelet.service": "Wants=network-online.target\nRequires=crio.service kubelet-dependencies.target\n" +
		"After=network-online.target crio.service kubelet-dependencies.target\n[Service]\nExecStart=/bin/true\n",
}

// root is a node's tree with the units and files of all MachineConfigs of a step,
// and what they refer to.
func root(t *testing.T, step machineconfig.Step) (dir string, units []string) {
	t.Helper()
	dir = t.TempDir()
	write := func(path, content string, mode os.FileMode) {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
	for path, content := range render(t, machineconfig.Options{Role: "worker", Image: image, Features: machineconfig.Features(), Step: step}) {
		if !strings.HasPrefix(path, "machineconfigs/") {
			continue
		}
		var c types.Config
		if err := json.Unmarshal(config(t, content), &c); err != nil {
			t.Fatal(err)
		}
		for _, f := range c.Storage.Files {
			write(f.Path, "", os.FileMode(*f.Mode))
		}
		for _, u := range c.Systemd.Units {
			write("etc/systemd/system/"+u.Name, *u.Contents, 0o644)
			units = append(units, u.Name)
			if u.Enabled != nil && *u.Enabled {
				enable(t, filepath.Join(dir, "etc/systemd/system"), u.Name, *u.Contents)
			}
			for _, d := range u.Dropins {
				write("etc/systemd/system/"+u.Name+".d/"+d.Name, *d.Contents, 0o644)
			}
		}
	}
	for _, program := range []string{"usr/local/bin/nodekeeper", "usr/local/bin/nodekeeper-hook", "bin/sh", "bin/rm", "bin/rmdir", "bin/true", "usr/bin/systemctl"} {
		write(program, "", 0o755)
	}
	for name, text := range node {
		write("usr/lib/systemd/system/"+name, "[Unit]\nDescription="+name+"\n"+text, 0o644)
	}
	return dir, units
}

// enable is systemctl enable.
func enable(t *testing.T, dir, name, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		targets, ok := strings.CutPrefix(strings.TrimSpace(line), "WantedBy=")
		if !ok {
			continue
		}
		for target := range strings.FieldsSeq(targets) {
			wants := filepath.Join(dir, target+".wants")
			if err := os.MkdirAll(wants, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("../"+name, filepath.Join(wants, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestSystemdUnderstandsTheUnits(t *testing.T) {
	for _, step := range []machineconfig.Step{machineconfig.Install, machineconfig.Inert} {
		dir, units := root(t, step)
		out, err := verify(t, dir, units)
		if err != nil || strings.TrimSpace(out) != "" {
			t.Errorf("%s: %v\n%s", step, err, out)
		}
	}
}

func verify(t *testing.T, dir string, units []string) (string, error) {
	t.Helper()
	// With the whole boot, or an order that cannot be kept would not be seen.
	args := append([]string{"verify", "--man=no", "--root=" + dir, "multi-user.target"}, units...)
	out, err := exec.CommandContext(t.Context(), analyzer(t), args...).CombinedOutput()
	return string(out), err
}

// A misspelt line, or an order that cannot be kept, would be found by systemd on
// the node, and then without the unit.
func TestWhatSystemdWouldNotUnderstandIsFound(t *testing.T) {
	for name, line := range map[string]string{
		"misspelt": "[Service]\nTimeoutStrtSec=3\n", "in a circle": "[Unit]\nAfter=crio.service\n",
		"not there": "[Service]\nExecStartPre=/usr/local/bin/nothing\n",
	} {
		dir, units := root(t, machineconfig.Install)
		dropin := filepath.Join(dir, "etc/systemd/system/nodekeeper-install.service.d/10-bad.conf")
		if err := os.MkdirAll(filepath.Dir(dropin), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dropin, []byte(line), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := verify(t, dir, units); err == nil && strings.TrimSpace(out) == "" {
			t.Errorf("%s: not found", name)
		}
	}
}

func TestServicesThatStayAreConfined(t *testing.T) {
	dir, units := root(t, machineconfig.Install)
	found := 0
	for _, unit := range units {
		threshold, ok := exposure[unit]
		if !ok {
			continue
		}
		found++
		out, err := exec.CommandContext(t.Context(), analyzer(t), "security", "--offline=yes", "--no-pager", "--root="+dir, "--threshold="+threshold, unit).CombinedOutput()
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		t.Log(lines[len(lines)-1])
		if err != nil {
			t.Errorf("%s: more than %s: %v\n%s", unit, threshold, err, out)
		}
	}
	if found != len(exposure) {
		t.Errorf("%d services", found)
	}
}
