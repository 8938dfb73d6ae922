package components

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestKey(t *testing.T) {
	base := key([]byte("mod"), []byte("sum"))
	for name, other := range map[string]string{
		"a changed part":     key([]byte("mod"), []byte("sum2")),
		"a moved boundary":   key([]byte("mods"), []byte("um")),
		"another part":       key([]byte("mod"), []byte("sum"), nil),
		"parts in new order": key([]byte("sum"), []byte("mod")),
	} {
		if other == base {
			t.Errorf("%s makes no difference", name)
		}
	}
	if again := key([]byte("mod"), []byte("sum")); again != base || len(base) != 16 {
		t.Errorf("keys %q and %q", base, again)
	}
}

func newTestBuilder(t *testing.T) *Builder {
	return &Builder{cache: t.TempDir(), progress: &progress{start: time.Now(), out: &bytes.Buffer{}}}
}

func TestCachedMakesOnceForAll(t *testing.T) {
	builder := newTestBuilder(t)
	var made atomic.Int32
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			dir, err := builder.cached("thing", "1", func(dir string) error {
				made.Add(1)
				return os.WriteFile(filepath.Join(dir, "file"), nil, 0o644)
			})
			if err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(dir, "file")); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if made.Load() != 1 {
		t.Errorf("made %d times", made.Load())
	}
}

func TestCachedKeepsNothingHalfMade(t *testing.T) {
	builder := newTestBuilder(t)
	broken := errors.New("broken")
	if _, err := builder.cached("thing", "1", func(string) error { return broken }); !errors.Is(err, broken) {
		t.Fatalf("error %v", err)
	}
	entries, err := os.ReadDir(builder.cache)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".lock") {
			t.Errorf("left %s", entry.Name())
		}
	}
}

func TestCachedRemovesWhatIsLongUnused(t *testing.T) {
	builder := newTestBuilder(t)
	nothing := func(string) error { return nil }
	old, err := builder.cached("thing", "1", nothing)
	if err != nil {
		t.Fatal(err)
	}
	used, err := builder.cached("thing", "2", nothing)
	if err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-2 * unusedAge)
	for _, dir := range []string{old, used} {
		if err := os.Chtimes(dir, long, long); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"2", "3"} {
		if _, err := builder.cached("thing", key, nothing); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("the unused one is still there")
	}
	if _, err := os.Stat(used); err != nil {
		t.Error("the used one is gone")
	}
}
