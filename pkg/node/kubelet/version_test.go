package kubelet

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/node/process"
)

// TestMain lets a copy of this program be a kubelet that runs until its input
// ends, and the program that is asked for its version.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 2 && os.Args[0] == "kubelet" && os.Args[1] == "--version":
		fmt.Println("Kubernetes v1.33.13+k3s1")
		if len(os.Environ()) > 0 {
			os.Exit(1)
		}
	case len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "--hostname-override"):
		fmt.Println("running")
		io.Copy(io.Discard, os.Stdin)
	default:
		os.Exit(m.Run())
	}
}

// startKubelet starts a copy of this program with kubelet's name.
func startKubelet(t *testing.T) (pid int, file string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "kubelet")
	if err := os.WriteFile(file, text, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(file, "--hostname-override", "real")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
	})
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	return cmd.Process.Pid, file
}

func TestARealProcess(t *testing.T) {
	pid, file := startKubelet(t)
	// It was replaced while it ran, as by an upgrade.
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	host := process.ThisHost()
	all, err := kubelets(host, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(all, func(r *running) bool { return r.stat.PID == pid })
	if at < 0 {
		t.Fatalf("process %d is not among %s", pid, listed(all))
	}
	r := all[at]
	here, err := os.Getwd()
	if err != nil || r.program.Path != file || r.program.Dir != here || !slices.Equal(r.flags, []string{"--hostname-override", "real"}) {
		t.Errorf("got %+v", r)
	}
	got, err := find(host, node.Unit{Name: "kubelet.service", MainPID: pid}, nil)
	if err != nil || !got.same(r) {
		t.Errorf("by its service: %+v, error %v", got, err)
	}
	if version, err := versionOf(t.Context(), host, r); version != "1.33.13" || err != nil {
		t.Errorf("version %q, error %v", version, err)
	}
	other := *r
	other.stat.Started += time.Second
	if version, err := versionOf(t.Context(), host, &other); err == nil {
		t.Errorf("another process of its number has version %q", version)
	}
}

// script makes a host whose kubelet is a shell script.
func script(t *testing.T, mode os.FileMode, text string) (*host, *running) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubelet")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, mode); err != nil {
		t.Fatal(err)
	}
	h := newHost(t)
	h.kubelet(10, file)
	r, err := read(h.Host.Host, 10, nil)
	if err != nil || r == nil {
		t.Fatalf("%+v, %v", r, err)
	}
	return h, r
}

func TestOnlyATrustedProgramIsAskedForItsVersion(t *testing.T) {
	for name, c := range map[string]struct {
		mode os.FileMode
		text string
		want string
	}{
		"a version":         {0o755, `[ "$*" = --version ] && [ -z "$HOME" ] && echo Kubernetes v1.30.14`, "1.30.14"},
		"with more":         {0o755, "echo Kubernetes v1.33.5-eks-1a2b3c", "1.33.5"},
		"others can write":  {0o777, "echo Kubernetes v1.30.14", ""},
		"a group can write": {0o775, "echo Kubernetes v1.30.14", ""},
		"not a version":     {0o755, "echo kubelet 1", ""},
		"it fails":          {0o755, "echo Kubernetes v1.30.14; exit 3", ""},
	} {
		h, r := script(t, c.mode, c.text)
		if got, err := versionOf(t.Context(), h.Host.Host, r); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, error %v", name, got, err)
		}
	}
	h := newHost(t)
	h.run(proc(10, 1, inUnit, "/usr/bin/hyperkube kubelet"))
	r, err := read(h.Host.Host, 10, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := versionOf(t.Context(), h.Host.Host, r); err == nil {
		t.Errorf("a program of another name: %q", got)
	}
}

// Given a program that does not end.
// Then it is asked a few times, each within its time, and not at each look.
func TestAProgramThatDoesNotTellItsVersion(t *testing.T) {
	count := filepath.Join(t.TempDir(), "count")
	h, _ := script(t, 0o755, "echo >>"+count+"\nexec sleep 60")
	i := h.identity(configOf())
	for range versionTries + 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		if _, s := i.Identify(ctx, unitOf(10)); s.Version != "" {
			t.Errorf("version %q", s.Version)
		}
		cancel()
	}
	if text, _ := os.ReadFile(count); len(text) > versionTries {
		t.Errorf("it was run %d times", len(text))
	}
}

func TestTheVersionIsAskedOnceAProcess(t *testing.T) {
	count := filepath.Join(t.TempDir(), "count")
	h, _ := script(t, 0o755, "echo >>"+count+"\necho Kubernetes v1.37.2")
	i := h.identity(configOf())
	for range 3 {
		if _, s := i.Identify(t.Context(), unitOf(10)); s.Version != "1.37.2" {
			t.Errorf("version %q", s.Version)
		}
	}
	if text, err := os.ReadFile(count); len(text) != 1 {
		t.Errorf("it was run %d times, %v", len(text), err)
	}
}
