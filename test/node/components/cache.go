package components

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// cacheDir is NODEKEEPER_CACHE, or nodekeeper in the user's cache folder.
func cacheDir() (string, error) {
	if dir := os.Getenv("NODEKEEPER_CACHE"); dir != "" {
		return filepath.Abs(filepath.Join(dir, "nodekeeper"))
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a cache folder: %w; set NODEKEEPER_CACHE", err)
	}
	return filepath.Join(dir, "nodekeeper"), nil
}

// key hashes its parts; each part counts by itself, not only their sequence.
func key(parts ...[]byte) string {
	hash := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(hash, "%d\n", len(part))
		hash.Write(part)
	}
	return hex.EncodeToString(hash.Sum(nil))[:16]
}

// cached returns the folder name-key of the cache. When it is not there it is
// made: make fills a folder that is renamed into place afterwards. Processes
// that want the same thing at the same time make it once.
func (b *Builder) cached(name, key string, make func(dir string) error) (string, error) {
	final := filepath.Join(b.cache, name+"-"+key)
	if _, err := os.Stat(final); err == nil {
		return final, nil
	}
	if err := os.MkdirAll(b.cache, 0o755); err != nil {
		return "", fmt.Errorf("make the cache folder: %w", err)
	}
	unlock, err := b.lock(name)
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(final); err == nil {
		return final, nil
	}
	partial := final + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return "", err
	}
	if err := os.Mkdir(partial, 0o755); err != nil {
		return "", err
	}
	if err := make(partial); err != nil {
		os.RemoveAll(partial)
		return "", err
	}
	return final, os.Rename(partial, final)
}

func (b *Builder) lock(name string) (func(), error) {
	file, err := os.OpenFile(filepath.Join(b.cache, "."+name+".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock the cache: %w", err)
	}
	descriptor := int(file.Fd())
	if syscall.Flock(descriptor, syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		b.progress.printf("%s: waiting for another run that makes it", name)
		if err := syscall.Flock(descriptor, syscall.LOCK_EX); err != nil {
			file.Close()
			return nil, fmt.Errorf("lock the cache: %w", err)
		}
	}
	return func() { file.Close() }, nil
}
