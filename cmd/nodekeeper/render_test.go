package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/machineconfig"
)

const renderImage = "registry.example.com/nodekeeper@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestRenderWritesATree(t *testing.T) {
	s := stage(t)
	dir := filepath.Join(t.TempDir(), "new", "worker")
	code, out, stderr := s.call("render", "--role", "worker", "--image", renderImage, "--features", "restart,proxy", "--dry-run=false", "-o", dir)
	if code != cli.ExitOK || stderr != "on the nodes: restart ACTS, logs off, proxy on\n" || !strings.HasSuffix(out, "README.md\n") {
		t.Fatalf("code %d, %q, %q", code, out, stderr)
	}
	for _, name := range []string{"README.md", "machineconfigs/99-worker-nodekeeper.yaml", "machineconfigs/99-worker-nodekeeper-proxy.yaml", "openshift/99-worker-nodekeeper-config.yaml"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	settings, err := os.ReadFile(filepath.Join(dir, "butane/99-worker-nodekeeper-config.bu"))
	if err != nil || !strings.Contains(string(settings), "dryRun: false") || !strings.Contains(string(settings), "enabled: false") {
		t.Errorf("%v: %s", err, settings)
	}
}

func TestRenderTakesSettingsAsTheyAre(t *testing.T) {
	s := stage(t)
	file, dir := filepath.Join(t.TempDir(), "settings"), t.TempDir()
	s.write(file, "apiVersion: nodekeeper.io/v1alpha1\nkind: Configuration\ninterval: 7s\n")
	if code, _, stderr := s.call("render", "--role", "worker", "--image", renderImage, "--settings", file, "-o", dir); code != cli.ExitOK {
		t.Fatalf("code %d, %q", code, stderr)
	}
	settings, err := os.ReadFile(filepath.Join(dir, "butane/99-worker-nodekeeper-config.bu"))
	if err != nil || !strings.Contains(string(settings), "interval: 7s\n") || strings.Contains(string(settings), "dryRun") {
		t.Errorf("%v: %s", err, settings)
	}
}

func TestRenderSaysThatSettingsAct(t *testing.T) {
	s := stage(t)
	file := filepath.Join(t.TempDir(), "settings")
	for _, c := range []struct {
		settings, flags, want string
		code                  int
	}{
		{"", "", "on the nodes: restart ACTS, logs on, proxy off\n", cli.ExitOK},
		{"", "--features=restart,logs,proxy --dry-run=false", "on the nodes: restart ACTS, logs on, proxy on\n", cli.ExitOK},
		{"restart: {dryRun: true}\n", "--dry-run", "on the nodes: restart in dry run, logs on, proxy off\n", cli.ExitOK},
		{"logs: {enabled: false}\n", "", "on the nodes: restart ACTS, logs off, proxy off\n", cli.ExitOK},
		{"", "--dry-run=true", "against --dry-run", cli.ExitUsage},
		{"restart: {dryRun: true}\n", "--dry-run=false", "against --dry-run=false", cli.ExitUsage},
		{"", "--features=restart", "--features is without logs", cli.ExitUsage},
		{"", "--features=", "--features is without restart", cli.ExitUsage},
		{"restart: {dryrun: true}\n", "", file + ":3: restart.dryrun: ", cli.ExitUsage},
		{"", "--step=upgrade", "leave out --settings", cli.ExitUsage},
	} {
		s.write(file, "apiVersion: nodekeeper.io/v1alpha1\nkind: Configuration\n"+c.settings)
		args := []string{"render", "--role=worker", "--image=" + renderImage, "--settings=" + file, "-o", filepath.Join(t.TempDir(), "out")}
		code, _, stderr := s.call(append(args, strings.Fields(c.flags)...)...)
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%q %s: code %d, %q", c.settings, c.flags, code, stderr)
		}
	}
	// Another image changes no settings, so nothing is said of them.
	if code, _, stderr := s.call("render", "--role=worker", "--image="+renderImage, "--step=upgrade", "-o", filepath.Join(t.TempDir(), "out")); code != cli.ExitOK || stderr != "" {
		t.Errorf("code %d, %q", code, stderr)
	}
}

func TestRenderSaysHowASwitchIsWritten(t *testing.T) {
	s := stage(t)
	for flag, want := range map[string]string{
		"--dry-run false": `render takes no arguments, and "false" is one; a switch has its value after =, as in --dry-run=false`,
		"--dry-run=maybe": "--dry-run=maybe: must be true or false",
	} {
		code, _, stderr := s.call(append([]string{"render", "--role=worker", "--image=" + renderImage, "-o=" + filepath.Join(t.TempDir(), "out")}, strings.Fields(flag)...)...)
		if code != cli.ExitUsage || stderr != "nodekeeper: "+want+"\n" {
			t.Errorf("%s: code %d, %q", flag, code, stderr)
		}
	}
}

func TestRenderRefusesBadUsageWithOneLine(t *testing.T) {
	s := stage(t)
	full := t.TempDir()
	file := filepath.Join(full, "old.yaml")
	s.write(file, "")
	good := []string{"render", "--role=worker", "--image=" + renderImage, "-o", filepath.Join(t.TempDir(), "out")}
	for _, more := range []string{
		"--role=", "--role=Worker", "--image=", "--image=x:latest", "--features=all", "--step=now", "--settings=/nowhere",
		"--features=logs --dry-run=false", "--output=", "-o=" + full, "-o=" + file, "more",
	} {
		code, out, stderr := s.call(append(good, strings.Fields(more)...)...)
		if code != cli.ExitUsage || out != "" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: code %d, %q, %q", more, code, out, stderr)
		}
	}
	if entries, _ := os.ReadDir(full); len(entries) != 1 {
		t.Errorf("%d files beside the old one", len(entries)-1)
	}
}

// One would be waited for for ever, another never ends.
func TestRenderReadsSettingsOfAFileAlone(t *testing.T) {
	s := stage(t)
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{fifo, "/dev/zero", t.TempDir()} {
		code, _, stderr := s.call("render", "--role=worker", "--image="+renderImage, "--settings="+file, "-o", filepath.Join(t.TempDir(), "out"))
		if code != cli.ExitUsage || !strings.Contains(stderr, file+": not a regular file") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: code %d, %q", file, code, stderr)
		}
	}
}

func TestRenderLeavesNoHalfOfATree(t *testing.T) {
	dir := t.TempDir()
	files := []machineconfig.File{{Path: "machineconfigs/one.yaml", Content: []byte("x")}, {Path: "machineconfigs/one.yaml/two.yaml"}}
	if err := writeTree(dir, files); err == nil {
		t.Fatal("no error")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

// The installer on the nodes reads it.
func TestTheVersionIsAFlagToo(t *testing.T) {
	s := stage(t)
	if code, out, _ := s.bare("--version"); code != cli.ExitOK || out != "nodekeeper version "+versionText()+"\n" {
		t.Errorf("code %d, %q", code, out)
	}
}
