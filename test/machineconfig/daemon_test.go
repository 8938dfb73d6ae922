package machineconfig

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/coreos/ignition/v2/config/v3_2/types"

	"github.com/nodekeeper/nodekeeper/pkg/machineconfig"
)

// daemonsSize is the most that nodekeeper's MachineConfigs of a pool may have, in
// bytes: all MachineConfigs of the pool are rendered into one object.
const daemonsSize = 32 << 10

// What the machine-config-daemon can change on a running node
// (machine-config-operator pkg/controller/common/reconcile.go, helpers.go). With
// anything else the node degrades.
func TestTheDaemonCanApplyThem(t *testing.T) {
	each(t, "machineconfigs/", func(t *testing.T, _ string, content []byte) {
		for _, problem := range unappliable(t, config(t, content)) {
			t.Error(problem)
		}
	})
}

func unappliable(t *testing.T, raw []byte) (problems []string) {
	t.Helper()
	wrong := func(what ...string) { problems = append(problems, strings.Join(what, ": ")) }
	var c types.Config
	if err := json.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	if s := c.Storage; len(s.Directories)+len(s.Links)+len(s.Disks)+len(s.Filesystems)+len(s.Raid)+len(s.Luks) > 0 {
		wrong("something other than files")
	}
	if p := c.Passwd; len(p.Users)+len(p.Groups) > 0 {
		wrong("users")
	}
	if i := c.Ignition; len(i.Config.Merge) > 0 || i.Config.Replace.Source != nil || i.Version != "3.2.0" {
		wrong("Ignition refers to more, or has another version")
	}
	paths := map[string]bool{}
	for _, f := range c.Storage.Files {
		if paths[f.Path] {
			wrong(f.Path, "twice")
		}
		paths[f.Path] = true
		if f.Mode == nil || *f.Mode > 0o777 || *f.Mode == 0 {
			wrong(f.Path, "mode")
		}
		if len(f.Append) > 0 {
			wrong(f.Path, "append")
		}
		if f.Contents.Source == nil {
			wrong(f.Path, "no content")
		} else if u, err := url.Parse(*f.Contents.Source); err != nil || u.Scheme != "data" {
			wrong(f.Path, "not a data URL")
		}
		// /usr cannot be written but for this, and what systemd makes in /etc is its own.
		if !strings.HasPrefix(f.Path, "/etc/") && !strings.HasPrefix(f.Path, "/usr/local/") || strings.HasPrefix(f.Path, "/etc/systemd/") {
			wrong(f.Path, "not a place for it")
		}
	}
	for _, u := range c.Systemd.Units {
		if u.Contents == nil || *u.Contents == "" {
			wrong(u.Name, "no content")
			continue
		}
		if u.Enabled != nil && *u.Enabled && !strings.Contains(*u.Contents, "\n[Install]\n") {
			wrong(u.Name, "cannot be enabled: it has no [Install]")
		}
		for _, d := range u.Dropins {
			if d.Contents == nil || *d.Contents == "" {
				wrong(u.Name, d.Name, "would be deleted")
			}
		}
		// A third party must not be able to hold the kubelet back.
		for _, line := range []string{"RequiredBy=", "Requires=kubelet", "BindsTo=kubelet"} {
			if strings.Contains(*u.Contents, line) {
				wrong(u.Name, line)
			}
		}
	}
	return problems
}

func TestWhatTheDaemonCannotApplyIsFound(t *testing.T) {
	for name, raw := range map[string]string{
		"setuid":          `{"storage":{"files":[{"path":"/etc/a","mode":2541,"contents":{"source":"data:,"}}]}}`,
		"remote":          `{"storage":{"files":[{"path":"/etc/a","mode":420,"contents":{"source":"https://example.com/a"}}]}}`,
		"append":          `{"storage":{"files":[{"path":"/etc/a","mode":420,"contents":{"source":"data:,"},"append":[{"source":"data:,"}]}]}}`,
		"twice":           `{"storage":{"files":[{"path":"/etc/a","mode":420,"contents":{"source":"data:,"}},{"path":"/etc/a","mode":420,"contents":{"source":"data:,"}}]}}`,
		"read-only /usr":  `{"storage":{"files":[{"path":"/usr/lib/a","mode":420,"contents":{"source":"data:,"}}]}}`,
		"directory":       `{"storage":{"directories":[{"path":"/etc/a"}]}}`,
		"link":            `{"storage":{"links":[{"path":"/etc/a","target":"b"}]}}`,
		"no [Install]":    `{"systemd":{"units":[{"name":"a.service","enabled":true,"contents":"[Service]\n"}]}}`,
		"kubelet's chain": `{"systemd":{"units":[{"name":"a.service","contents":"[Install]\nRequiredBy=kubelet.service\n"}]}}`,
	} {
		whole := strings.Replace(raw, "{", `{"ignition":{"version":"3.2.0"},`, 1)
		if problems := unappliable(t, []byte(whole)); len(problems) != 1 {
			t.Errorf("%s: %q", name, problems)
		}
	}
}

func TestTheyAreSmall(t *testing.T) {
	size := 0
	for path, content := range render(t, machineconfig.Options{Role: "worker", Image: image, Features: machineconfig.Features()}) {
		if strings.HasPrefix(path, "machineconfigs/") {
			size += len(content)
		}
	}
	t.Logf("%d bytes", size)
	if size == 0 || size >= daemonsSize {
		t.Errorf("%d bytes of %d", size, daemonsSize)
	}
}
