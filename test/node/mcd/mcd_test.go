package mcd

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folder is a node without programs: it notes what it is told to run.
type folder struct {
	dir      string
	commands []string
	enabled  map[string]bool
	owned    string // a path that belongs to the operating system
}

func newFolder(t *testing.T) *folder {
	return &folder{dir: t.TempDir(), enabled: map[string]bool{}}
}

func (f *folder) Path(path string) (string, error) { return filepath.Join(f.dir, path), nil }

func (f *folder) Exec(_ context.Context, args ...string) (string, string, error) {
	f.commands = append(f.commands, strings.Join(args, " "))
	switch {
	case args[0] == "dpkg" && args[2] != f.owned:
		return "", "", errors.New("no path found")
	case len(args) == 3 && args[1] == "is-enabled" && !f.enabled[args[2]]:
		return "disabled\n", "", errors.New("exit status 1")
	case len(args) == 3 && args[1] == "is-enabled":
		return "enabled\n", "", nil
	}
	return "", "", nil
}

func (f *folder) put(t *testing.T, path, content string) {
	t.Helper()
	outside := filepath.Join(f.dir, path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(outside), 0o755), os.WriteFile(outside, []byte(content), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func (f *folder) want(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	outside := filepath.Join(f.dir, path)
	info, err := os.Lstat(outside)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(outside); err != nil || string(got) != content || info.Mode() != mode {
		t.Errorf("%s is %q (%v, %v), want %q (%v)", path, got, info.Mode(), err, content, mode)
	}
}

func (f *folder) gone(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(filepath.Join(f.dir, path)); !os.IsNotExist(err) {
		t.Errorf("%s is still there (%v)", path, err)
	}
}

func (f *folder) ran(command string) bool {
	for _, c := range f.commands {
		if c == command {
			return true
		}
	}
	return false
}

// one is a MachineConfig with these files and units, in YAML's flow style.
func one(name, files, units string) string {
	return fmt.Sprintf(`apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata: {name: %s, labels: {machineconfiguration.openshift.io/role: worker}}
spec:
  config:
    ignition: {version: 3.2.0}
    storage: {files: [%s]}
    systemd: {units: [%s]}
`, name, files, units)
}

func parse(t *testing.T, texts ...string) Rendered {
	t.Helper()
	var all []MachineConfig
	for _, text := range texts {
		config, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, config)
	}
	return Render(all...)
}

func apply(t *testing.T, d *Daemon, to Rendered, policy Policy) bool {
	t.Helper()
	reboot, err := d.Apply(t.Context(), to, policy)
	if err != nil {
		t.Fatal(err)
	}
	return reboot
}

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write([]byte(text))
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(out.Bytes())
}

func TestFilesAndUnitsComeAndGo(t *testing.T) {
	node := newFolder(t)
	node.owned = "/etc/os.conf"
	node.put(t, "/etc/os.conf", "of the system")
	node.enabled["b.service"] = true
	d := New(node)
	to := parse(t, one("99-worker-a",
		`{path: /etc/a, mode: 0600, contents: {source: "data:,a%20b%0A"}}, {path: /etc/os.conf, contents: {source: "data:,ours"}},
		 {path: /usr/local/libexec/x, mode: 0755, contents: {compression: gzip, source: "data:;base64,`+gzipped(t, "#!/bin/sh\n")+`"}}`,
		`{name: a.service, enabled: true, contents: "[Install]\nWantedBy=x\n"}, {name: b.service, enabled: false, contents: "[Unit]\n"},
		 {name: crio.service, dropins: [{name: 10-a.conf, contents: "[Unit]\n"}]}, {name: c.service, mask: true}`))
	if !apply(t, d, to, Policy{}) {
		t.Error("no reboot follows although no policy is there")
	}
	node.want(t, "/etc/a", "a b\n", 0o600)
	node.want(t, "/etc/os.conf", "ours", 0o644)
	node.want(t, "/usr/local/libexec/x", "#!/bin/sh\n", 0o755)
	node.want(t, "/etc/systemd/system/a.service", "[Install]\nWantedBy=x\n", 0o644)
	node.want(t, "/etc/systemd/system/crio.service.d/10-a.conf", "[Unit]\n", 0o644)
	if target, err := os.Readlink(filepath.Join(node.dir, unitDir, "c.service")); err != nil || target != "/dev/null" {
		t.Errorf("the masked unit leads to %q (%v)", target, err)
	}
	for _, command := range []string{"systemctl enable a.service", "systemctl disable b.service", "systemctl preset crio.service"} {
		if !node.ran(command) {
			t.Errorf("%q was not run, but %q", command, node.commands)
		}
	}
	if !apply(t, d, Rendered{}, Policy{}) {
		t.Error("no reboot follows the removal")
	}
	node.want(t, "/etc/os.conf", "of the system", 0o644)
	for _, path := range []string{"/etc/a", "/usr/local/libexec/x", "/etc/systemd/system/a.service", "/etc/systemd/system/b.service",
		"/etc/systemd/system/c.service", "/etc/systemd/system/crio.service.d/10-a.conf", noOrigName("/etc/a")} {
		node.gone(t, path)
	}
}

func TestLaterConfigsWin(t *testing.T) {
	got := parse(t,
		one("99-worker-b", `{path: /etc/a, contents: {source: "data:,later"}}`, `{name: x.service, dropins: [{name: b.conf, contents: b}]}`),
		one("01-worker-a", `{path: /etc/a, contents: {source: "data:,sooner"}}`, `{name: x.service, contents: c, dropins: [{name: a.conf, contents: a}]}`))
	if len(got.Files) != 1 || got.Files[0].Contents.Source != "data:,later" {
		t.Errorf("files %+v", got.Files)
	}
	if len(got.Units) != 1 || got.Units[0].Contents != "c" || len(got.Units[0].Dropins) != 2 {
		t.Errorf("units %+v", got.Units)
	}
}

func TestDriftDegradesTheNode(t *testing.T) {
	config := one("99-worker-a", `{path: /etc/a, contents: {source: "data:,a"}}`, `{name: a.service, contents: "[Unit]\n", dropins: [{name: x.conf, contents: x}]}`)
	for name, change := range map[string]func(dir string) error{
		"content":          func(dir string) error { return os.WriteFile(filepath.Join(dir, "etc/a"), []byte("b"), 0o644) },
		"mode":             func(dir string) error { return os.Chmod(filepath.Join(dir, "etc/a"), 0o600) },
		"a file is gone":   func(dir string) error { return os.Remove(filepath.Join(dir, "etc/a")) },
		"a unit":           func(dir string) error { return os.WriteFile(filepath.Join(dir, unitDir, "a.service"), nil, 0o644) },
		"a drop-in's mode": func(dir string) error { return os.Chmod(filepath.Join(dir, unitDir, "a.service.d/x.conf"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			node := newFolder(t)
			d := New(node)
			apply(t, d, parse(t, config), Policy{})
			if err := d.CheckDrift(); err != nil {
				t.Fatal(err)
			}
			if err := change(node.dir); err != nil {
				t.Fatal(err)
			}
			if err := d.CheckDrift(); err == nil {
				t.Error("it went unnoticed")
			}
			if _, err := d.Apply(t.Context(), Rendered{}, Policy{}); err == nil {
				t.Error("the node takes another configuration")
			}
		})
	}
}

func TestAnAdminEditsAConfig(t *testing.T) {
	text := one("99-worker-a", `{path: /etc/a, mode: 0600, contents: {source: "data:,a"}}`, `{name: a.service, contents: "[Unit]\n"}`)
	config, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	before := Render(config)
	if !config.SetFile("/etc/a", []byte("b,\n")) || !config.SetUnit("a.service", "[Service]\n") {
		t.Error("it has neither")
	}
	if config.SetFile("/etc/b", nil) || config.SetUnit("b.service", "") {
		t.Error("it has what it does not have")
	}
	node := newFolder(t)
	d := New(node)
	apply(t, d, before, Policy{})
	apply(t, d, Render(config), Policy{})
	node.want(t, "/etc/a", "b,\n", 0o600)
	node.want(t, "/etc/systemd/system/a.service", "[Service]\n", 0o644)
}

const policyText = `
apiVersion: operator.openshift.io/v1
kind: MachineConfiguration
metadata: {name: cluster}
spec:
  nodeDisruptionPolicy:
    files:
    - {path: /etc/ours, actions: [{type: None}]}
    - {path: /etc/ours/image, actions: [{type: Restart, restart: {serviceName: ours.service}}]}
    units:
    - {name: ours.service, actions: [{type: DaemonReload}, {type: Restart, restart: {serviceName: ours.service}}]}
`

func TestPolicySaysWhatFollows(t *testing.T) {
	policy, err := ParsePolicy([]byte(policyText))
	if err != nil {
		t.Fatal(err)
	}
	file := func(path string) string { return `{path: ` + path + `, contents: {source: "data:,x"}}` }
	for name, c := range map[string]struct {
		files, units string
		reboot       bool
		commands     []string
	}{
		"below the directory":      {files: file("/etc/ours/config")},
		"the longest path holds":   {files: file("/etc/ours/image"), commands: []string{"systemctl restart ours.service"}},
		"a name that only begins":  {files: file("/etc/ours-not"), reboot: true},
		"the unit":                 {units: `{name: ours.service, contents: x}`, commands: []string{"systemctl daemon-reload", "systemctl restart ours.service"}},
		"another unit":             {files: file("/etc/ours/config"), units: `{name: crio.service, dropins: [{name: a.conf, contents: x}]}`, reboot: true},
		"nothing but what it knew": {},
	} {
		t.Run(name, func(t *testing.T) {
			node := newFolder(t)
			if got := apply(t, New(node), parse(t, one("99-worker-a", c.files, c.units)), policy); got != c.reboot {
				t.Errorf("reboot: %v", got)
			}
			for _, command := range c.commands {
				if !node.ran(command) {
					t.Errorf("%q was not run, but %q", command, node.commands)
				}
			}
			if c.reboot && node.ran("systemctl restart ours.service") {
				t.Errorf("restarted and rebooted: %q", node.commands)
			}
		})
	}
}

func TestWhatTheDaemonWouldRefuse(t *testing.T) {
	for name, text := range map[string]string{
		"a mode with more":      one("a", `{path: /etc/a, mode: 04755, contents: {source: "data:,"}}`, ""),
		"appending":             one("a", `{path: /etc/a, append: [{source: "data:,"}]}`, ""),
		"fetching":              one("a", `{path: /etc/a, contents: {source: "https://example.com/a"}}`, ""),
		"a directory":           strings.Replace(one("a", "", ""), "{files: []}", "{directories: [{path: /etc/a}]}", 1),
		"enabled, no [Install]": one("a", "", `{name: a.service, enabled: true, contents: "[Unit]"}`),
		"kernel arguments":      one("a", "", "") + "  kernelArguments: [quiet]\n",
		"no role":               strings.Replace(one("a", "", ""), "machineconfiguration.openshift.io/role", "role", 1),
		"damaged gzip":          one("a", `{path: /etc/a, contents: {compression: gzip, source: "data:,x"}}`, ""),
	} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for name, text := range map[string]string{
		"None and more":      strings.Replace(policyText, "[{type: None}]", "[{type: None}, {type: DaemonReload}]", 1),
		"restart of what":    strings.Replace(policyText, "{type: None}", "{type: Restart}", 1),
		"no action":          strings.Replace(policyText, "[{type: None}]", "[]", 1),
		"something else":     strings.Replace(policyText, "MachineConfiguration", "MachineConfig", 1),
		"not even an object": "[",
	} {
		if _, err := ParsePolicy([]byte(text)); err == nil {
			t.Errorf("policy: %s: accepted", name)
		}
	}
}
