package config

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestThePrintedFileIsTheDefault(t *testing.T) {
	var out strings.Builder
	if err := Print(&out); err != nil {
		t.Fatal(err)
	}
	got, err := Parse("printed", []byte(out.String()))
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if diff := cmp.Diff(Default(), got); diff != "" {
		t.Errorf("default (-) and printed (+) differ:\n%s", diff)
	}
}

func TestEachFieldHasItsCommentAbove(t *testing.T) {
	var out strings.Builder
	if err := Print(&out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	explained := map[string]bool{}
	for i, line := range lines {
		if len(line) > width {
			t.Errorf("line %d is longer than %d: %s", i+1, width, line)
		}
		name, _, isField := strings.Cut(strings.TrimSpace(line), ":")
		if !isField || strings.HasPrefix(name, "#") || strings.HasPrefix(name, "-") {
			continue
		}
		above := strings.TrimSpace(lines[i-1])
		if !strings.HasPrefix(above, "#") && !explained[name] {
			t.Errorf("line %d: %s has no comment above it", i+1, name)
		}
		explained[name] = true
	}
	if len(explained) < 60 {
		t.Errorf("only %d fields were printed", len(explained))
	}
}

func TestAFullDiskIsReported(t *testing.T) {
	full := errors.New("no space")
	if err := Print(failing{full}); !errors.Is(err, full) {
		t.Errorf("got error %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestShortDurationsReadBack(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", time.Second: "1s", time.Minute: "1m", 90 * time.Second: "1m30s", time.Hour: "1h",
		time.Hour + time.Second: "1h0m1s", 10 * time.Minute: "10m", 100 * time.Hour: "100h", time.Millisecond: "1ms",
		-time.Minute: "-1m", 10 * time.Hour: "10h", time.Hour + 10*time.Minute: "1h10m",
	} {
		got := short(d)
		if back, err := time.ParseDuration(got); got != want || err != nil || back != d {
			t.Errorf("short(%s) = %q, want %q", d, got, want)
		}
	}
}
