package journal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// printed is what journalctl of systemd 252 printed.
const printed = `{"_PID":"1108","__CURSOR":"s=37;i=2ef8;b=7a","MESSAGE":"hello \"you\"","__REALTIME_TIMESTAMP":"1796098756592708","__MONOTONIC_TIMESTAMP":"1723972829"}`

func TestEntries(t *testing.T) {
	for name, c := range map[string]struct {
		line, text string
		dropped    bool
		says       string
	}{
		"text":             {line: printed, text: `hello "you"`},
		"bytes":            {line: strings.Replace(printed, `"hello \"you\""`, "[27,91,51,49,109,114,101,100]", 1), text: "\x1b[31mred"},
		"longer than 4096": {line: strings.Replace(printed, `"hello \"you\""`, "null", 1)},
		"twice":            {line: strings.Replace(printed, `"hello \"you\""`, `["a","b"]`, 1)},
		"dropped": {line: strings.Replace(printed, `"_PID"`, `"MESSAGE_ID":"a596d6fe7bfa4994828e72309e95d61e","_PID"`, 1),
			text: `hello "you"`, dropped: true},
		"no JSON":   {line: "-- No entries --", says: "an entry"},
		"no cursor": {line: strings.Replace(printed, "__CURSOR", "x", 1), says: "no cursor"},
		"no time":   {line: strings.Replace(printed, "__MONO", "x", 1), says: "no time"},
		"too late":  {line: strings.Replace(printed, "1723972829", "9223372036854775807", 1), says: "no time"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := parseEntry([]byte(c.line))
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("error %v, want %q", err, c.says)
				}
				return
			}
			if err != nil || e.text != c.text || e.dropped != c.dropped || e.cursor != "s=37;i=2ef8;b=7a" ||
				e.mono != 1723972829*time.Microsecond || e.wall.UnixMicro() != 1796098756592708 {
				t.Errorf("%+v, %v", e, err)
			}
		})
	}
}

// script puts a journalctl into the PATH.
func script(t *testing.T, body string) {
	t.Helper()
	bin := t.TempDir()
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	if err := os.WriteFile(filepath.Join(bin, "journalctl"), []byte("#!/bin/sh\n"+body), 0o700); err != nil {
		t.Fatal(err)
	}
}

func count(t *testing.T, ctx context.Context, enough int) (int, error) {
	t.Helper()
	n := 0
	err := journalctl(ctx, func(entry) error {
		if n++; n == enough {
			return errEnough
		}
		return nil
	}, "--boot")
	return n, err
}

func TestJournalctl(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want int
		says string
	}{
		"entries":                {"[ \"$1\" = --boot ] && echo '" + printed + "' && echo '" + printed + "'", 2, ""},
		"none":                   {"exit 0", 0, ""},
		"more than wanted":       {"while echo '" + printed + "'; do :; done", 3, ""},
		"an error":               {"echo no journal here >&2; exit 1", 0, "no journal here"},
		"an error without words": {"exit 3", 0, "exit status 3"},
		"a file passed over":     {"echo '" + printed + "'; echo Journal file /x uses an unsupported feature, ignoring file. >&2", 1, "unsupported feature"},
		"no entries":             {"echo '-- No entries --'", 0, "an entry"},
		"a very long entry":      {"head -c 1100000 /dev/zero | tr '\\0' x", 0, "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			script(t, c.body)
			n, err := count(t, t.Context(), 3)
			if n != c.want || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%d entries, error %v; want %d, %q", n, err, c.want, c.says)
			}
		})
	}
}

func TestJournalctlEndsWithItsContext(t *testing.T) {
	// A child that holds the pipe does not hold up who asks.
	script(t, "echo '"+printed+"'; sleep 8 & echo x >/dev/null; sleep 8")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := count(t, ctx, 3); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestWithoutJournalctl(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if told := New().Told(t.Context(), kubelet); told.Known() || told.Err == nil {
		t.Errorf("told %+v", told)
	}
}

func FuzzEntries(f *testing.F) {
	f.Add([]byte(printed))
	f.Fuzz(func(t *testing.T, line []byte) {
		if e, err := parseEntry(line); err == nil && (e.cursor == "" || e.mono < 0) {
			t.Errorf("%q: %+v", line, e)
		}
	})
}
