package pause

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

const boot = "boot-1"

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// at is a moment with a boot clock and a wall clock that need not agree.
func at(boot time.Duration, wall time.Time) node.Instant {
	return node.Instant{Wall: wall, Boot: boot}
}

func set(t *testing.T, length time.Duration) string {
	t.Helper()
	dir := t.TempDir()
	p, err := For(length, "etcd\nrestore", boot, at(time.Hour, noon))
	if err != nil {
		t.Fatal(err)
	}
	if err := Set(dir, p); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAPauseEndsByItself(t *testing.T) {
	dir := set(t, 2*time.Hour)
	for name, c := range map[string]struct {
		boot   string
		now    node.Instant
		active bool
	}{
		"just set":                         {boot, at(time.Hour, noon), true},
		"before its end":                   {boot, at(3*time.Hour-1, noon.Add(2*time.Hour)), true},
		"at its end":                       {boot, at(3*time.Hour, noon.Add(2*time.Hour)), false},
		"wall clock jumped ahead":          {boot, at(time.Hour, noon.AddDate(1, 0, 0)), true},
		"wall clock jumped back":           {boot, at(3*time.Hour, noon.AddDate(-50, 0, 0)), false},
		"after a reboot, before its end":   {"boot-2", at(time.Minute, noon.Add(time.Hour)), true},
		"after a reboot, after its end":    {"boot-2", at(time.Minute, noon.Add(2*time.Hour)), false},
		"after a reboot into 1970":         {"boot-2", at(time.Minute, time.Unix(0, 0)), true},
		"after a long time in 1970":        {"boot-2", at(2*time.Hour, time.Unix(7200, 0)), false},
		"after a reboot into the far away": {"boot-2", at(time.Minute, noon.AddDate(50, 0, 0)), false},
	} {
		if got := Active(dir, c.boot, c.now); (got != "") != c.active {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestItSaysUntilWhenAndWhy(t *testing.T) {
	dir := set(t, 2*time.Hour)
	if got, want := Active(dir, boot, at(time.Hour, noon)), "until 2026-03-01 14:00:00 UTC: etcd restore"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestResume(t *testing.T) {
	dir := set(t, 2*time.Hour)
	for range 2 {
		if err := Clear(dir); err != nil {
			t.Fatal(err)
		}
	}
	if got := Active(dir, boot, at(time.Hour, noon)); got != "" {
		t.Errorf("still paused %q", got)
	}
}

func TestLengthsThatAreRefused(t *testing.T) {
	for _, length := range []time.Duration{0, -time.Hour, time.Millisecond, Longest + 1} {
		if _, err := For(length, "", boot, at(0, noon)); err == nil {
			t.Errorf("%v was taken", length)
		}
	}
}

func TestAnUnreadableFileIsAPause(t *testing.T) {
	for _, content := range []string{"", "{", "{}", `{"seconds":-1}`, `{"seconds":99999999999}`,
		`{"seconds":60,"bootID":"boot-1","bootUntil":9000000000000000000}`} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, Name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := Active(dir, boot, at(time.Hour, noon)); !strings.Contains(got, "nodekeeper resume") {
			t.Errorf("%s: %q", content, got)
		}
	}
}

// Only a pause that says so has ended, and none outlasts its length and a
// reboot.
func FuzzActive(f *testing.F) {
	f.Add([]byte(`{"reason":"x","seconds":7200,"until":"2026-03-01T14:00:00Z","bootID":"boot-1","bootUntil":10800000000000}`), int64(time.Hour))
	f.Add([]byte(`{"seconds":7200,"bootID":"boot-2"}`), int64(0))
	f.Fuzz(func(t *testing.T, data []byte, clock int64) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, Name), data, 0o600); err != nil {
			t.Fatal(err)
		}
		now := at(time.Duration(clock&(1<<60-1)), noon)
		if Active(dir, boot, now) != "" {
			return
		}
		var p Pause
		if err := json.Unmarshal(data, &p); err != nil {
			t.Fatalf("not a pause, and ended: %q", data)
		}
		if p.BootID == boot && p.BootUntil > now.Boot {
			t.Errorf("ended too soon: %+v", p)
		}
	})
}
