package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/nodekeeper/nodekeeper/pkg/lifecycle"
)

// bundle is an OCI bundle whose one process is this hook's own binary, run with
// no input: a static program that ends with 0.
func bundle(t testing.TB, s *scene, annotations map[string]string, hook []string) string {
	t.Helper()
	dir := filepath.Join(s.dir, "bundle")
	do(t, os.MkdirAll(filepath.Join(dir, "rootfs"), 0o755))
	program, err := os.ReadFile(binary)
	do(t, err)
	do(t, os.WriteFile(filepath.Join(dir, "rootfs", "program"), program, 0o755))
	timeout := 2
	h := specs.Hook{Path: hook[0], Args: hook, Env: []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, Timeout: &timeout}
	config, err := json.Marshal(specs.Spec{
		Version:     "1.0.2",
		Root:        &specs.Root{Path: "rootfs"},
		Process:     &specs.Process{Args: []string{"/program", "--root", "/ran", "--journal", "/none"}, Cwd: "/"},
		Annotations: annotations,
		Hooks:       &specs.Hooks{CreateRuntime: []specs.Hook{h}, Poststop: []specs.Hook{h}},
		Mounts: []specs.Mount{
			{Destination: "/proc", Type: "proc", Source: "proc"},
			{Destination: "/dev", Type: "tmpfs", Source: "tmpfs"},
		},
		Linux: &specs.Linux{Namespaces: []specs.LinuxNamespace{
			{Type: specs.PIDNamespace}, {Type: specs.MountNamespace}, {Type: specs.IPCNamespace}, {Type: specs.UTSNamespace},
		}},
	})
	do(t, err)
	do(t, os.WriteFile(filepath.Join(dir, "config.json"), config, 0o644))
	return dir
}

// runtimes are how each OCI runtime is called. On nodes with cgroup v1 crun 1.8
// needs a cgroup2 of its own, in a mount namespace of its own.
var runtimes = map[string][]string{
	"runc": {"runc"},
	"crun": {"unshare", "--mount", "/bin/sh", "-c", `mount -t cgroup2 none /sys/fs/cgroup && exec "$0" "$@"`, "crun", "--cgroup-manager=disabled"},
}

func TestRuncAndCrun(t *testing.T) {
	agents := map[string]func(t *testing.T, socket string){
		"no agent": func(*testing.T, string) {},
		"a stopped agent": func(t *testing.T, socket string) {
			l, err := net.Listen("unix", socket)
			do(t, err)
			t.Cleanup(func() { _ = l.Close() })
		},
		"an agent with a full backlog": full,
	}
	for runtime, command := range runtimes {
		t.Run(runtime, func(t *testing.T) {
			asRoot(t)
			if _, err := exec.LookPath(runtime); err != nil {
				t.Skip("not installed: ", err)
			}
			for name, agent := range agents {
				for size, annotation := range map[string]string{"": "", " and a state of 200 KiB": strings.Repeat("x", 200<<10)} {
					t.Run(name+size, func(t *testing.T) {
						s := newScene(t)
						agent(t, filepath.Join(s.run, "lifecycle.sock"))
						s.runs(t, command, annotation)
					})
				}
			}
		})
	}
}

// runs has a runtime run a container with the hook, to its end.
func (s *scene) runs(t *testing.T, runtime []string, annotation string) {
	t.Helper()
	id := fmt.Sprintf("nodekeeper-test-%d-%d", os.Getpid(), time.Now().UnixNano())
	state := s.state(t, id)
	state.Annotations["large"] = annotation
	dir := bundle(t, s, state.Annotations, s.command().Args)
	args := append(runtime[1:len(runtime):len(runtime)], "--root", filepath.Join(s.dir, "runtime"), "run", "--bundle", dir, id)
	cmd := exec.Command(runtime[0], args...)
	// A runtime waits for whoever holds its output.
	out, err := os.Create(filepath.Join(s.dir, "out"))
	do(t, err)
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	began := time.Now()
	err = cmd.Run()
	took := time.Since(began)
	said, _ := os.ReadFile(out.Name())
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	if took > 2*(deadline+slack)+5*time.Second {
		t.Errorf("it took %v", took)
	}
	if text, b := s.live(t, id); text != "words of "+id || b.Bundle != dir || b.Pid == 0 {
		t.Errorf("kept %q, %+v", text, b)
	}
	var kinds []lifecycle.Kind
	for _, e := range s.spooled(t) {
		kinds = append(kinds, e.Kind)
	}
	if len(kinds) != 2 || kinds[0] != lifecycle.Created || kinds[1] != lifecycle.Removed {
		t.Errorf("events %v", kinds)
	}
}
