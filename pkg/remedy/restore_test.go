package remedy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
)

// An agent that ends at any point leaves one of these directories behind.
func TestRestoreRepairsEveryPointAtWhichAReplacementCanEnd(t *testing.T) {
	cases := map[string]struct {
		make func(t *testing.T, path string)
		// left is what the directory then holds, notes how many lines.
		left  string
		notes int
		text  string
	}{
		"before the manifest is hidden": {func(t *testing.T, path string) { write(t, path, "v1") }, "app.yaml", 0, "v1"},
		"while it is hidden":            {func(t *testing.T, path string) { write(t, hidden(path), "v1") }, "app.yaml", 1, "v1"},
		"while it is hidden, and a new one came": {func(t *testing.T, path string) {
			write(t, hidden(path), "v1")
			write(t, path, "v2")
		}, ".set-aside-by-nodekeeper-app.yaml app.yaml", 1, "v2"},
		"between link and unlink, where the file system cannot rename so": {func(t *testing.T, path string) {
			write(t, path, "v1")
			if err := os.Link(path, hidden(path)); err != nil {
				t.Fatal(err)
			}
		}, "app.yaml", 1, "v1"},
		"after it is back": {func(t *testing.T, path string) { write(t, path, "v1") }, "app.yaml", 0, "v1"},
		"twice, with an older one set aside": {func(t *testing.T, path string) {
			write(t, filepath.Join(filepath.Dir(path), asidePrefix+"app.yaml"), "v0")
			write(t, hidden(path), "v1")
			write(t, path, "v2")
		}, ".set-aside-by-nodekeeper-app.yaml app.yaml", 1, "v2"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "app.yaml")
			c.make(t, path)
			for pass, want := range []int{c.notes, 0} {
				notes, err := Restore(dir)
				if err != nil || len(notes) != want {
					t.Errorf("pass %d: notes %q, error %v", pass, notes, err)
				}
				if got := names(t, dir); got != c.left {
					t.Errorf("pass %d: left %s, want %s", pass, got, c.left)
				}
				if got := read(t, path); got != c.text {
					t.Errorf("pass %d: manifest %q, want %q", pass, got, c.text)
				}
			}
		})
	}
}

func TestRestoreAfterAnAgentThatDiedInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newScripted(t)
		e, step := n.given("replace")
		n.onLook = func() {
			if !there(n.manifest()) {
				panic("killed")
			}
		}
		func() {
			defer func() { recover() }()
			e.Do(t.Context(), step, n.confirm)
		}()
		if there(n.manifest()) {
			t.Fatal("it was not out")
		}
		notes, err := Restore(filepath.Dir(n.manifest()))
		if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "put back manifest "+n.manifest()) || !there(n.manifest()) {
			t.Errorf("notes %q, error %v", notes, err)
		}
	})
}

func TestRestoreLeavesAloneWhatItDidNotMake(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, ".hidden.yaml"), "an editor's")
	write(t, filepath.Join(dir, ".nodekeeper-"), "no name")
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, ".nodekeeper-link.yaml")); err != nil {
		t.Fatal(err)
	}
	before := names(t, dir)
	notes, err := Restore(dir)
	if err == nil || !strings.Contains(err.Error(), ".nodekeeper-link.yaml is not a regular file") || len(notes) > 0 {
		t.Errorf("notes %q, error %v", notes, err)
	}
	if after := names(t, dir); after != before {
		t.Errorf("before %s, after %s", before, after)
	}
}

func TestRestoreNeedsNoDirectory(t *testing.T) {
	if notes, err := Restore(filepath.Join(t.TempDir(), "none")); err != nil || len(notes) > 0 {
		t.Errorf("notes %q, error %v", notes, err)
	}
}

func TestRestoreHasNothingToDoForASingleFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pod.yaml")
	write(t, path, "v1")
	if notes, err := Restore(path); err != nil || len(notes) > 0 {
		t.Errorf("notes %q, error %v", notes, err)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
