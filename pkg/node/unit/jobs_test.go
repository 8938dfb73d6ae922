package unit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// entry is what journalctl of systemd 252 printed.
const entry = `{"JOB_RESULT":"dependency","__CURSOR":"s=1;i=2","__MONOTONIC_TIMESTAMP":"29156829981","_BOOT_ID":"b","JOB_TYPE":"start","__REALTIME_TIMESTAMP":"1796046000000000"}` + "\n"

func TestLastJob(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		err  error
		want node.Job
		says string
	}{
		"a start that failed with what it requires": {text: entry,
			want: node.Job{Type: "start", Result: "dependency", Finished: 29156829981 * time.Microsecond}},
		"none":                   {text: "", says: "no finished job"},
		"no journal":             {err: errors.New("no such program"), says: "no such program"},
		"no JSON":                {text: "-- No entries --\n", says: "its entry"},
		"a field that is twice":  {text: strings.Replace(entry, `"start"`, `["start","stop"]`, 1), says: "its entry"},
		"no type":                {text: strings.Replace(entry, "JOB_TYPE", "OTHER", 1), says: "no type"},
		"no time":                {text: strings.Replace(entry, "__MONOTONIC", "OTHER", 1), says: "no time"},
		"a time before the boot": {text: strings.Replace(entry, `"29`, `"-29`, 1), says: "no time"},
	} {
		t.Run(name, func(t *testing.T) {
			_, u, _ := newFake(t)
			var asked []string
			u.jobs = func(_ context.Context, arguments ...string) ([]byte, error) {
				asked = arguments
				return []byte(c.text), c.err
			}
			got := u.LastJob(t.Context(), "kubelet.service")
			for _, argument := range []string{"--boot", "_PID=1", "UNIT=kubelet.service", "JOB_RESULT=dependency"} {
				if !slices.Contains(asked, argument) {
					t.Errorf("asked %q, without %s", asked, argument)
				}
			}
			if c.says == "" {
				if got != c.want {
					t.Errorf("got %+v, want %+v", got, c.want)
				}
				return
			}
			if got.Err == nil || !strings.Contains(got.Err.Error(), "kubelet.service") || !strings.Contains(got.Err.Error(), c.says) || got.Type != "" {
				t.Errorf("got %+v, want an error with %q", got, c.says)
			}
		})
	}
}

func TestJournalctlFailsWithItsOwnWords(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	if _, err := journalctl(t.Context()); err == nil {
		t.Error("a program that is not there has answered")
	}
	script := "#!/bin/sh\n[ \"$1\" = good ] && echo \"$@\" && exit\necho no journal here >&2\nexit 1\n"
	if err := os.WriteFile(filepath.Join(bin, "journalctl"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := journalctl(t.Context(), "good", "more"); err != nil || string(out) != "good more\n" {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := journalctl(t.Context(), "bad"); err == nil || !strings.Contains(err.Error(), "no journal here") {
		t.Errorf("error %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := journalctl(ended, "good"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func FuzzParseJob(f *testing.F) {
	f.Add([]byte(entry))
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		job, err := parseJob(text)
		if err == nil && (job.Type == "" || job.Result == "" || job.Finished < 0) {
			t.Errorf("%q: %+v", text, job)
		}
	})
}
