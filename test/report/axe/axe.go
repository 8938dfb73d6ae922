// Package axe says which axe-core judges pages, and where it is kept.
package axe

import (
	"fmt"
	"os"
	"path/filepath"
)

// Version is that of the npm package, SHA256 its checksum.
const (
	Version = "4.14.1"
	SHA256  = "e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745"
)

// Path is the script in the cache.
func Path() (string, error) {
	cache := os.Getenv("NODEKEEPER_CACHE")
	if cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find a cache folder: %w; set NODEKEEPER_CACHE", err)
		}
		cache = filepath.Join(dir, "nodekeeper")
	}
	return filepath.Join(cache, "axe-core-"+Version, "axe.min.js"), nil
}
