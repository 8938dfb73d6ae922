package remedy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// acts makes act directories with so many bytes each, oldest first.
func acts(t *testing.T, sizes ...int) *archive {
	t.Helper()
	a := newArchive(Dependencies{EvidenceDir: t.TempDir()})
	a.limits.actBytes = 10
	for i, size := range sizes {
		dir := filepath.Join(a.dir, fmt.Sprintf("2026030%dT120000.000Z-act", i+1))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "0.log"), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

func TestPruneKeepsTheNewestActs(t *testing.T) {
	a := acts(t, 1, 1, 1, 1, 1)
	a.limits.directories = 3
	a.prune(t.Context())
	if got := names(t, a.dir); got != "20260304T120000.000Z-act 20260305T120000.000Z-act" {
		t.Errorf("left %s: room for one more of 3 was wanted", got)
	}
}

func TestPruneKeepsWithinTheBytes(t *testing.T) {
	a := acts(t, 1, 100, 5, 5)
	a.limits.bytes = 30
	a.prune(t.Context())
	if got := names(t, a.dir); got != "20260303T120000.000Z-act 20260304T120000.000Z-act" {
		t.Errorf("left %s", got)
	}
}

func TestPruneRemovesNothingButActs(t *testing.T) {
	a := acts(t, 1, 1)
	a.limits.directories, a.limits.bytes = 1, 0
	outside := filepath.Join(t.TempDir(), "0.log")
	for path, make := range map[string]func(string) error{
		outside:                            func(p string) error { return os.WriteFile(p, []byte("x"), 0o600) },
		filepath.Join(a.dir, "notes"):      func(p string) error { return os.Mkdir(p, 0o700) },
		filepath.Join(a.dir, "README.txt"): func(p string) error { return os.WriteFile(p, nil, 0o600) },
		filepath.Join(a.dir, "20260301T120000.000Z-link"): func(p string) error { return os.Symlink(filepath.Dir(outside), p) },
	} {
		if err := make(path); err != nil {
			t.Fatal(err)
		}
	}
	a.prune(t.Context())
	if got := names(t, a.dir); got != "20260301T120000.000Z-link README.txt notes" {
		t.Errorf("left %s", got)
	}
	read(t, outside)
}

func TestFiftyActsAndAQuarterOfAGibibyteAreKept(t *testing.T) {
	l := defaultLimits()
	if l.directories != 50 || l.bytes != 256<<20 || l.logBytes != 10<<20 || l.actBytes > l.bytes {
		t.Errorf("limits %+v", l)
	}
}

func TestActsOfOneMomentGetDirectoriesOfTheirOwn(t *testing.T) {
	n := newScripted(t)
	e, step := n.given("stop container")
	s := n.look(t.Context())
	x := subjectOf(s, step, "")
	first, _ := e.evidence.save(t.Context(), x)
	second, _ := e.evidence.save(t.Context(), x)
	if first == second || !strings.HasSuffix(second, "-2") {
		t.Errorf("%s and %s", first, second)
	}
}
