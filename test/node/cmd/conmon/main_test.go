package main

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

func TestEnterPod(t *testing.T) {
	for name, test := range map[string]struct {
		path  string
		there []string // hierarchies that are there
		want  []string // groups entered
	}{
		"both hierarchies of systemd": {"/kubepods/pod1/crio-abc", []string{"systemd", "unified"},
			[]string{"systemd/kubepods/pod1/crio-conmon-abc", "unified/kubepods/pod1/crio-conmon-abc"}},
		"version 1 alone":    {"/kubepods/pod1/crio-abc", []string{"systemd"}, []string{"systemd/kubepods/pod1/crio-conmon-abc"}},
		"the systemd driver": {"kubepods-pod1.slice:crio:abc", []string{"systemd"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			root, bundle := t.TempDir(), t.TempDir()
			write(t, filepath.Join(bundle, "config.json"), `{"linux":{"cgroupsPath":"`+test.path+`"}}`)
			for _, hierarchy := range test.there {
				write(t, filepath.Join(root, hierarchy, "cgroup.procs"), "")
			}
			// A real group has the file when it is made.
			for _, group := range test.want {
				write(t, filepath.Join(root, group, "cgroup.procs"), "")
			}
			if err := enterPod(root, []string{"-b", bundle, "-c", "abc", "-l", "log"}); err != nil {
				t.Fatal(err)
			}
			for _, group := range test.want {
				text, err := os.ReadFile(filepath.Join(root, group, "cgroup.procs"))
				if err != nil || string(text) != strconv.Itoa(os.Getpid()) {
					t.Errorf("%s: %q, %v", group, text, err)
				}
			}
		})
	}
	if err := enterPod(t.TempDir(), []string{"--version"}); err != nil {
		t.Errorf("a call about no container: %v", err)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
