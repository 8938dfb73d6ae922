package nodepackage

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/nodekeeper/nodekeeper/tools/image/program"
)

func debHoldsTheFiles(t *testing.T, path string) {
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("dpkg-deb is not there: the deb is not read back")
	}
	out, err := exec.CommandContext(t.Context(), "dpkg-deb", "-c", path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	papers, seen := 0, map[string]bool{}
	for line := range strings.Lines(string(out)) {
		w := strings.Fields(line)
		name := strings.TrimPrefix(w[len(w)-1], ".")
		if w[1] != "root/root" || w[3] != "2023-11-14" && w[3] != "2023-11-15" {
			t.Error(line)
		}
		want, ok := held[name]
		switch {
		case ok:
			seen[name] = true
			if w[0] != fs.FileMode(want.mode).String() {
				t.Errorf("%s: %s", name, w[0])
			}
		case strings.HasPrefix(name, documents+"/"):
			papers++
		case !strings.HasSuffix(name, "/"):
			t.Errorf("it holds %s", name)
		}
	}
	if len(seen) != len(held) || papers < 3 {
		t.Errorf("it holds %d of %d files and %d papers", len(seen), len(held), papers)
	}
}

// The second's programs are the real ones: a script runs one.
func TestADebIsInstalledUpgradedRemovedAndPurged(t *testing.T) {
	r := newRoot(t)
	first, second := r.build("v1.2.3", small(t).Programs), r.build("v1.2.4", program.ForNodes())

	said := r.dpkg("--install", first)
	if !strings.Contains(said, "systemctl enable --now nodekeeper.service") {
		t.Errorf("it does not say how to begin: %s", said)
	}
	r.told("daemon-reload")
	for name, want := range held {
		if info, err := os.Stat(r.path(name)); err != nil || info.Mode().Perm() != want.mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}

	settings := r.read("/etc/nodekeeper/config.yaml") + "interval: 7s\n"
	r.write("/etc/nodekeeper/config.yaml", settings, 0o600)
	r.dpkg("--install", second)
	r.told("daemon-reload", "--no-block try-restart nodekeeper.service nodekeeper-proxy.service")
	if r.read("/etc/nodekeeper/config.yaml") != settings {
		t.Error("the settings are others after an upgrade")
	}

	r.write("/etc/systemd/system/kubelet.service.d/nodekeeper.conf", "[Service]\nExecStart=/usr/local/libexec/nodekeeper/kubelet-wrapper /usr/bin/kubelet\n", 0o644)
	if said, err := r.try("--remove", "nodekeeper"); err == nil || !strings.Contains(said, "kubelet-wrapper") {
		t.Errorf("what the kubelet is started with can be removed: %s", said)
	}
	if err := os.RemoveAll(r.path("/etc/systemd/system/kubelet.service.d")); err != nil {
		t.Fatal(err)
	}
	r.told()

	for _, name := range []string{"/run/containers/oci/hooks.d/50-nodekeeper.json", "/var/lib/nodekeeper/acts", "/var/log/nodekeeper/record"} {
		r.write(name, "{}", 0o600)
	}
	r.dpkg("--remove", "nodekeeper")
	r.told("disable --now nodekeeper-proxy.socket nodekeeper-proxy.service nodekeeper.service nodekeeper.socket", "daemon-reload")
	r.gone("/run/containers/oci/hooks.d/50-nodekeeper.json", "/usr/local/bin/nodekeeper", "/usr/local/bin/nodekeeper-hook", "/usr/lib/systemd/system/nodekeeper.service")
	if r.read("/etc/nodekeeper/config.yaml") != settings {
		t.Error("the settings are others after the removal")
	}

	r.dpkg("--purge", "nodekeeper")
	r.told("daemon-reload")
	r.gone("/etc/nodekeeper", "/var/lib/nodekeeper")
	r.read("/var/log/nodekeeper/record")
}

// root is the top of a file system with dpkg's database, a shell, and a systemctl
// that only writes down what it is told.
type root struct {
	*testing.T
	dir string
}

func newRoot(t *testing.T) root {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("not root: no package is installed")
	}
	for _, name := range []string{"dpkg", "ldd"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(name + " is not there: no package is installed")
		}
	}
	r := root{t, t.TempDir()}
	for _, dir := range []string{"/var/lib/dpkg/info", "/var/lib/dpkg/updates", "/run/systemd/system", "/tmp"} {
		if err := os.MkdirAll(r.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"sh", "rm", "cat", "grep"} {
		r.take(name)
	}
	r.write("/var/lib/dpkg/status", "", 0o644)
	r.write("/systemctl.log", "", 0o644)
	r.write("/bin/systemctl", "#!/bin/sh\necho \"$*\" >>/systemctl.log\n", 0o755)
	return r
}

// take copies a program and the libraries that it needs.
func (r root) take(name string) {
	r.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		r.Fatal(err)
	}
	out, err := exec.CommandContext(r.Context(), "ldd", path).Output()
	if err != nil {
		r.Fatal(err)
	}
	take := func(from, to string) {
		b, err := os.ReadFile(from)
		if err != nil {
			r.Fatal(err)
		}
		r.write(to, string(b), 0o755)
	}
	take(path, "/bin/"+name)
	for _, m := range regexp.MustCompile(`(/\S+) \(0x`).FindAllStringSubmatch(string(out), -1) {
		take(m[1], m[1])
	}
}

func (r root) build(version string, programs []program.Program) string {
	r.Helper()
	b := small(r.T)
	b.Source.Version = version
	b.Programs = programs
	b.Platforms = []program.Platform{{OS: "linux", Architecture: runtime.GOARCH}}
	_, out := made(r.T, b)
	return filepath.Join(out, fmt.Sprintf("nodekeeper_%s-1_%s.deb", version[1:], runtime.GOARCH))
}

func (r root) try(words ...string) (string, error) {
	c := exec.CommandContext(r.Context(), "dpkg", append([]string{"--root=" + r.dir, "--log=/dev/null"}, words...)...)
	c.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "PATH=/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin")
	out, err := c.CombinedOutput()
	return string(out), err
}

func (r root) dpkg(words ...string) string {
	r.Helper()
	out, err := r.try(words...)
	if err != nil {
		r.Fatalf("dpkg %q: %v\n%s", words, err, out)
	}
	return out
}

// told is what systemctl was told since the last time.
func (r root) told(want ...string) {
	r.Helper()
	var said strings.Builder
	for _, line := range want {
		said.WriteString(line + "\n")
	}
	if got := r.read("/systemctl.log"); got != said.String() {
		r.Errorf("systemctl was told %q instead of %q", got, said.String())
	}
	r.write("/systemctl.log", "", 0o644)
}

func (r root) gone(names ...string) {
	r.Helper()
	for _, name := range names {
		if _, err := os.Lstat(r.path(name)); !os.IsNotExist(err) {
			r.Errorf("%s is still there: %v", name, err)
		}
	}
}

func (r root) path(name string) string { return filepath.Join(r.dir, name) }

func (r root) read(name string) string {
	r.Helper()
	b, err := os.ReadFile(r.path(name))
	if err != nil {
		r.Fatal(err)
	}
	return string(b)
}

func (r root) write(name, text string, mode fs.FileMode) {
	r.Helper()
	if err := os.MkdirAll(filepath.Dir(r.path(name)), 0o755); err != nil {
		r.Fatal(err)
	}
	if err := os.WriteFile(r.path(name), []byte(text), mode); err != nil {
		r.Fatal(err)
	}
}
