package components

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// cacheDir is NODEKEEPER_CACHE itself, or nodekeeper in the user's cache folder.
func cacheDir() (string, error) {
	if dir := os.Getenv("NODEKEEPER_CACHE"); dir != "" {
		return filepath.Abs(dir)
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
	if touch(final) {
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
	if touch(final) {
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
	if err := os.Rename(partial, final); err != nil {
		return "", err
	}
	touch(final)
	return final, b.prune(name)
}

// touch tells whether the folder is there, and notes that it is used.
func touch(dir string) bool {
	now := time.Now()
	return os.Chtimes(dir, now, now) == nil
}

// unusedAge is how long a folder stays that nobody uses.
const unusedAge = 14 * 24 * time.Hour

// prune removes what an older source made under the same name, when it has not
// been used for long. It needs the lock of the name.
func (b *Builder) prune(name string) error {
	dirs, err := filepath.Glob(filepath.Join(b.cache, name+"-*"))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil || time.Since(info.ModTime()) < unusedAge {
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove what is not used any more: %w", err)
		}
	}
	return nil
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
