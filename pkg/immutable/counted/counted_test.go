package counted

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodekeeper/nodekeeper/pkg/immutable"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/front"
)

func TestWhatIsWrittenIsRead(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	want := Stats{Time: now, Bypass: []Bypass{KillSwitch}, Front: front.Stats{Bypassed: "x", Passed: 3},
		Guard: immutable.Stats{Counters: map[string]int64{"lists": 4}, Bytes: 5}}
	dir := t.TempDir()
	if err := Write(dir, want); err != nil {
		t.Fatal(err)
	}
	got, there, err := Read(dir)
	if err != nil || !there || !cmp.Equal(got, want) {
		t.Errorf("%v %v %s", there, err, cmp.Diff(want, got))
	}
	for age, fresh := range map[time.Duration]bool{0: true, Stale: true, Stale + 1: false, -time.Second: true, -time.Hour: false} {
		if got.Fresh(now.Add(age)) != fresh {
			t.Errorf("after %v it is fresh: %v", age, !fresh)
		}
	}
}

func TestAGuardThatIsNotThereIsToldFromOneThatHasWrittenNothing(t *testing.T) {
	dir := Dir(t.TempDir())
	if _, there, err := Read(dir); there || err == nil {
		t.Errorf("no directory: there %v, %v", there, err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, there, err := Read(dir); !there || err == nil {
		t.Errorf("no file: there %v, %v", there, err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, there, err := Read(dir); !there || err == nil {
		t.Errorf("half a file: there %v, %v", there, err)
	}
}
