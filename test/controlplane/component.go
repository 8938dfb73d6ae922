package controlplane

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// component is a program that the box has prepared.
func component(t testing.TB, name, program string) string {
	t.Helper()
	cache := os.Getenv("NODEKEEPER_CACHE")
	if cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(dir, "nodekeeper")
	}
	found, err := filepath.Glob(filepath.Join(cache, name+"-*", program))
	if err != nil {
		t.Fatal(err)
	}
	newest, when := "", time.Time{}
	for _, path := range found {
		if info, err := os.Stat(path); err == nil && info.ModTime().After(when) {
			newest, when = path, info.ModTime()
		}
	}
	if newest == "" {
		t.Skipf("there is no %s in %s: run make prepare", program, cache)
	}
	return newest
}
