package main

import (
	"strings"
	"testing"

	"github.com/nodekeeper/nodekeeper/internal/cli"
)

func TestInstallChangesNothingWhereNoSystemdAnswers(t *testing.T) {
	s := stage(t)
	for _, more := range []string{"", "--remove"} {
		code, out, stderr := s.call(append([]string{"install", "--host", t.TempDir()}, strings.Fields(more)...)...)
		if code != cli.ExitFailure || out != "" || !strings.Contains(stderr, "systemd") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: code %d, %q, %q", more, code, out, stderr)
		}
	}
}

func TestInstallRefusesBadUsageWithOneLine(t *testing.T) {
	s := stage(t)
	for _, args := range []string{"", "--remove", "--idle --host /host", "--idle --remove", "--host /host more"} {
		code, out, stderr := s.call(append([]string{"install"}, strings.Fields(args)...)...)
		if code != cli.ExitUsage || out != "" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: code %d, %q, %q", args, code, out, stderr)
		}
	}
}
