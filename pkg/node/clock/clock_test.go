package clock

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestBootClockRunsForward(t *testing.T) {
	c := New("/proc")
	first := c.Now()
	for second := c.Now(); second.Boot <= first.Boot; second = c.Now() {
		if second.Boot < first.Boot {
			t.Fatalf("boot clock went from %v back to %v", first.Boot, second.Boot)
		}
	}
	if first.Boot <= 0 || time.Since(first.Wall) > time.Minute {
		t.Errorf("implausible instant %+v", first)
	}
	if first.Wall != first.Wall.Round(0) {
		t.Error("the wall clock carries a monotonic reading")
	}
}

func TestBootIDComesFromTheGivenRoot(t *testing.T) {
	proc := t.TempDir()
	dir := filepath.Join(proc, "sys/kernel/random")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "boot_id"), []byte("7e7c\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := New(proc).BootID(); got != "7e7c" {
		t.Errorf("boot ID %q", got)
	}
	if got := New(t.TempDir()).BootID(); got != "" {
		t.Errorf("boot ID %q without a file", got)
	}
}
