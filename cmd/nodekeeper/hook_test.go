package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/lifecycle/hooksd"
)

func TestTheHookIsInstalledCheckedAndRemoved(t *testing.T) {
	s := stage(t)
	dir, binary := filepath.Join(t.TempDir(), "hooks.d"), filepath.Join(t.TempDir(), "nodekeeper-hook")
	file := filepath.Join(dir, hooksd.FileName)
	hook := func(args ...string) (int, string, string) {
		return s.call(append(append([]string{"hook"}, args...), "--dir", dir, "--binary", binary)...)
	}

	// Given no program, then nothing is installed.
	if code, _, stderr := hook("install"); code != cli.ExitFailure || !strings.Contains(stderr, "the program") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if err := os.WriteFile(binary, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := hook("check"); code != cli.ExitFailure || !strings.Contains(stderr, file+" is missing") {
		t.Errorf("exit code %d: %s", code, stderr)
	}

	code, stdout, stderr := hook("install", "--poststop")
	if code != cli.ExitOK || !strings.Contains(stdout, dir) || stderr != "" {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	text, err := os.ReadFile(file)
	for _, part := range []string{binary, s.records, s.run, "poststop"} {
		if err != nil || !strings.Contains(string(text), `"`+part+`"`) {
			t.Errorf("%q is missing: %v: %s", part, err, text)
		}
	}
	if code, stdout, stderr := hook("check", "--poststop"); code != cli.ExitOK || !strings.Contains(stdout, "is installed") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}

	// When it differs and another one is broken, then check has a line for each.
	s.write(filepath.Join(dir, "60-broken.json"), "{")
	code, _, stderr = hook("check")
	if code != cli.ExitFailure || strings.Count(stderr, "nodekeeper: ") != 2 || !strings.Contains(stderr, "differs") || !strings.Contains(stderr, "keeps CRI-O from starting") {
		t.Errorf("exit code %d: %s", code, stderr)
	}

	for range 2 {
		if code, stdout, stderr := s.call("hook", "uninstall", "--dir", dir); code != cli.ExitOK || !strings.Contains(stdout, "has to stay") {
			t.Errorf("exit code %d: %s%s", code, stdout, stderr)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("in the directory: %v, %v", entries, err)
	}
	if _, err := os.Stat(binary); err != nil {
		t.Error(err)
	}
}

func TestTheHooksPlacesComeFromTheConfiguration(t *testing.T) {
	s := stage(t)
	dir, binary := filepath.Join(t.TempDir(), "hooks.d"), filepath.Join(t.TempDir(), "nodekeeper-hook")
	if err := os.WriteFile(binary, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	s.write(s.config, "apiVersion: nodekeeper.io/v1alpha1\nkind: Configuration\nlogs: {hook: {directory: "+dir+", program: "+binary+"}}\n")
	if code, _, stderr := s.call("hook", "install"); code != cli.ExitOK {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, hooksd.FileName)); err != nil {
		t.Error(err)
	}
	s.write(s.config, "apiVersion: nodekeeper.io/v1alpha1\nkind: Configuration\nlogs: {hook: {directory: \"\"}}\n")
	for _, command := range []string{"install", "uninstall", "check"} {
		if code, _, stderr := s.call("hook", command); code != cli.ExitUsage || !strings.Contains(stderr, "--dir") {
			t.Errorf("%s: exit code %d: %s", command, code, stderr)
		}
	}
	if code, _, _ := s.call("hook", "install", "now"); code != cli.ExitUsage {
		t.Errorf("an argument: exit code %d", code)
	}
}
