package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestOldVersion(t *testing.T) {
	for was, want := range map[string]string{
		`{"ociVersion":"1.2.1","process":{}}`: `{"ociVersion":"1.0.2","process":{}}`,
		`{"ociVersion": "1.3.0-dev"}`:         `{"ociVersion":"1.0.2"}`,
		`{"ociVersion":"1.0.1"}`:              `{"ociVersion":"1.0.1"}`,
	} {
		file := filepath.Join(t.TempDir(), "config.json")
		if err := os.WriteFile(file, []byte(was), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := oldVersion(filepath.Dir(file)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", was, got, err)
		}
	}
}
