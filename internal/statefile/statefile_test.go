package statefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReplaceLeavesOneFileWithItsMode(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "status.json")
	for _, text := range []string{"a long first content", "second"} {
		if err := Replace(path, []byte(text), 0o640, true); err != nil {
			t.Fatal(err)
		}
	}
	data, err := Read(path, 100)
	if err != nil || string(data) != "second" {
		t.Errorf("read %q, %v", data, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d files left, %v", len(entries), err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o027 != 0 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestReadIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "big")
	if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path, 4); !errors.Is(err, ErrTooLarge) {
		t.Errorf("error %v", err)
	}
	if data, err := Read(path, 5); err != nil || len(data) != 5 {
		t.Errorf("%q, %v", data, err)
	}
}

func TestFailedReplaceKeepsTheOldContent(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(path, "by a folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Replace(path, []byte("x"), 0o600, false); err == nil {
		t.Error("a folder was replaced")
	}
	if _, err := os.Stat(path + ".new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("temporary file left: %v", err)
	}
}

func TestSetAsideIsBounded(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "acts.jsonl")
	for range keptAside + 3 {
		if err := os.WriteFile(path, []byte("?"), 0o600); err != nil {
			t.Fatal(err)
		}
		aside, err := SetAside(path)
		if err != nil || !strings.HasPrefix(aside, path+".corrupt-") {
			t.Fatal(aside, err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != keptAside {
		t.Errorf("%d files, %v", len(entries), err)
	}
}
