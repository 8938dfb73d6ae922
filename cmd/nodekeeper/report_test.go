package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/cmd/internal/fixture"
	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/timeline"
)

func TestReport(t *testing.T) {
	s := stage(t)
	fixture.Records(t, s.records, s.now.Wall)
	s.publish(troubled(s.now))
	s.acted()
	s.now.Wall = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	err := timeline.New(s.records).Append(
		timeline.Line{Time: s.now.Wall.Add(-20 * time.Hour), Kind: timeline.Started, BootID: "boot-1"},
		timeline.Line{Time: s.now.Wall.Add(-20 * time.Hour), Kind: timeline.Verdict, Namespace: fixture.Namespace, Pod: fixture.Pod, Container: fixture.Container, State: "healthy"},
		timeline.Line{Time: s.now.Wall.Add(-time.Minute), Kind: timeline.Alive})
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(s.state, "report.html")
	if code, out, stderr := s.call("report", "--since", "24h", "-o", to); code != cli.ExitOK || out != "" || stderr != "" {
		t.Fatalf("code %d, %q, %q", code, out, stderr)
	}
	page, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(to); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for _, words := range []string{fixture.Node, "Sat 28 Feb 12:00 – Sun 1 Mar 2026 12:00", "UTC", fixture.Line(4, 9), "lost-exit", `class="b running"`, "restart-kubelet", "2 records were evicted"} {
		if !strings.Contains(string(page), words) {
			t.Errorf("no %q on the page", words)
		}
	}
	code, out, stderr := s.call("report", "-o", "-")
	if code != cli.ExitOK || stderr != "" || !strings.HasPrefix(out, "<!doctype html>") || !strings.HasSuffix(out, "</html>\n") {
		t.Errorf("to the pipe: code %d, %q, %.60q", code, stderr, out)
	}
}

func TestAReportOfANodeWithoutFilesSaysSo(t *testing.T) {
	s := stage(t)
	code, out, stderr := s.call("report", "-o", "-")
	if code != cli.ExitOK || stderr != "" || !strings.Contains(out, "the agent does not run") || !strings.Contains(out, "no crash records") {
		t.Errorf("code %d, %q, %q", code, stderr, out)
	}
}

func TestARecordRootThatWasNamedHasToBeThere(t *testing.T) {
	s := stage(t)
	to, empty := filepath.Join(s.state, "report.html"), t.TempDir()
	for _, dir := range []string{filepath.Join(empty, "nope"), empty, s.config} {
		code, _, crashes := s.call("crashes", "--log-dir", dir)
		if code != cli.ExitFailure || strings.Count(crashes, "\n") != 1 {
			t.Fatalf("%s: code %d, %q", dir, code, crashes)
		}
		if code, out, stderr := s.call("report", "--log-dir", dir, "-o", to); code != cli.ExitFailure || out != "" || stderr != crashes {
			t.Errorf("%s: code %d, %q, %q, want %q", dir, code, out, stderr, crashes)
		}
		if _, err := os.Stat(to); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	// An agent that keeps no records still has a timeline there.
	if err := timeline.New(empty).Append(timeline.Line{Time: s.now.Wall.Add(-time.Hour), Kind: timeline.Started, BootID: "boot-1"}); err != nil {
		t.Fatal(err)
	}
	if code, out, stderr := s.call("report", "--log-dir", empty, "-o", "-"); code != cli.ExitOK || stderr != "" || !strings.Contains(out, "no crash records") {
		t.Errorf("code %d, %q", code, stderr)
	}
}

func TestWhatIsWrongWithAReportIsOneLine(t *testing.T) {
	s := stage(t)
	for args, c := range map[string]struct {
		code int
		says string
	}{
		"--since 1s":                             {cli.ExitUsage, "--since 1s: from 1m0s to 90d"},
		"--since 9999h":                          {cli.ExitUsage, "--since 9999h0m0s"},
		"--since 91d":                            {cli.ExitUsage, "--since 91d: from"},
		"--since yesterday":                      {cli.ExitUsage, "yesterday"},
		"--output=":                              {cli.ExitUsage, "which file?"},
		"pod":                                    {cli.ExitUsage, "pod"},
		"-o " + s.state + "/no/such/report.html": {cli.ExitFailure, "no such file or directory"},
		"-o " + s.state + " --since 1h --config x": {cli.ExitUsage, "x"},
	} {
		code, out, stderr := s.bare(append([]string{"report", "--config", s.config}, strings.Fields(args)...)...)
		if code != c.code || out != "" || !strings.Contains(stderr, c.says) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: code %d, %q, %q", args, code, out, stderr)
		}
	}
}

// A FIFO stands for devices, of which a test has none to spare.
func TestAFileIsNotPutInThePlaceOfSomethingElse(t *testing.T) {
	s := stage(t)
	fixture.Records(t, s.records, s.now.Wall)
	dir := t.TempDir()
	fifo, link := filepath.Join(dir, "fifo"), filepath.Join(dir, "link")
	if err := errors.Join(syscall.Mkfifo(fifo, 0o600), os.Symlink("/dev/null", link)); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{fifo, link, dir} {
		before, err := os.Lstat(to)
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"report", "export"} {
			code, out, stderr := s.call(command, "-o", to)
			if code != cli.ExitUsage || out != "" || !strings.Contains(stderr, "-o "+to+": not a regular file") || strings.Count(stderr, "\n") != 1 {
				t.Errorf("%s: code %d, %q, %q", command, code, out, stderr)
			}
		}
		if after, err := os.Lstat(to); err != nil || after.Mode() != before.Mode() {
			t.Errorf("%s: %v, %v", to, after, err)
		}
	}
}
