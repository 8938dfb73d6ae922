package main

import (
	"strings"
	"testing"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/pause"
)

func TestBadUsageIsOneLineAndCodeTwo(t *testing.T) {
	s := stage(t)
	for _, args := range []string{
		"frobnicate", "status --frobnicate", "status -o picture", "status everything", "acts 7", "pause --for tomorrow",
		"pause --for 0s", "pause --for 2000h", "run --log-level loud", "config check a b", "config frobnicate",
	} {
		code, out, stderr := s.call(strings.Fields(args)...)
		if code != cli.ExitUsage || out != "" || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "nodekeeper: ") {
			t.Errorf("%s: code %d, %q, %q", args, code, out, stderr)
		}
	}
}

func TestAnUnknownCommandIsToldWithThoseLikeIt(t *testing.T) {
	s := stage(t)
	for args, says := range map[string]string{
		"rendr": "did you mean render?", "statuss": "did you mean status?", "frobnicate": "nodekeeper --help", "config chek": "did you mean check?",
		"hook instal": "did you mean install?", "kubeconfig reverse": "did you mean revert? nodekeeper kubeconfig --help lists all",
	} {
		code, out, stderr := s.bare(strings.Fields(args)...)
		if code != cli.ExitUsage || out != "" || !strings.Contains(stderr, says) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: code %d, %q, %q", args, code, out, stderr)
		}
	}
}

func TestABadConfigurationIsCodeTwoForEachCommand(t *testing.T) {
	s := stage(t)
	s.write(s.config, "apiVersion: nodekeeper.io/v1alpha1\nkind: Configuration\ninterval: soon\nfoo: bar\n")
	for _, args := range []string{"run", "status", "acts", "pause", "resume", "config check"} {
		code, out, stderr := s.call(strings.Fields(args)...)
		if code != cli.ExitUsage || out != "" || !strings.Contains(stderr, s.config+":3: ") || !strings.Contains(stderr, s.config+":4: ") {
			t.Errorf("%s: code %d, %q, %q", args, code, out, stderr)
		}
	}
	if code, _, _ := s.bare("status", "--config", s.config+".nowhere"); code != cli.ExitUsage {
		t.Errorf("a named file that is not there: code %d", code)
	}
}

func TestConfig(t *testing.T) {
	s := stage(t)
	code, defaults, _ := s.call("config", "print-defaults")
	if code != cli.ExitOK || !strings.Contains(defaults, "interval: ") {
		t.Errorf("code %d, %q", code, defaults)
	}
	file := s.config + ".defaults"
	s.write(file, defaults)
	if code, out, stderr := s.call("config", "check", file); code != cli.ExitOK || out != file+": ok\n" {
		t.Errorf("code %d, %q, %q", code, out, stderr)
	}
}

func TestPauseAndResume(t *testing.T) {
	s := stage(t)
	code, out, stderr := s.call("pause", "--for", "90m", "--reason", "etcd restore")
	if want := "no acts until 2026-03-01 13:30:00 UTC: etcd restore; to end it earlier: nodekeeper resume\n"; code != cli.ExitOK || out != want {
		t.Errorf("code %d, %q, %q", code, out, stderr)
	}
	if pause.Active(s.state, "boot-1", s.now) == "" {
		t.Error("not paused")
	}
	for _, want := range []string{"resumed\n", "there was no pause\n"} {
		if code, out, _ := s.call("resume"); code != cli.ExitOK || out != want {
			t.Errorf("code %d, %q", code, out)
		}
	}
}

func TestVersionAndHelp(t *testing.T) {
	s := stage(t)
	if code, out, _ := s.bare("version"); code != cli.ExitOK || !strings.HasPrefix(out, "nodekeeper ") {
		t.Errorf("code %d, %q", code, out)
	}
	for _, args := range []string{"", "--help", "status --help"} {
		if code, out, _ := s.bare(strings.Fields(args)...); code != cli.ExitOK || !strings.Contains(out, "Exit codes:") {
			t.Errorf("%q: code %d, %q", args, code, out)
		}
	}
}
