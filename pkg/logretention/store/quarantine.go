package store

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// Bounds of the quarantine; the oldest goes first.
const (
	quarantineEntries = 32
	quarantineBytes   = 64 << 20
)

// quarantine collects what makes no sense, for somebody who wants to know why.
// It is moved, never repaired, read or shown; its links stay links.
type quarantine struct {
	store *Store
	moved int
	first string
}

func (s *Store) newQuarantine() *quarantine { return &quarantine{store: s} }

// add moves something below the root into the quarantine.
func (q *quarantine) add(path string, why error) {
	s := q.store
	q.moved++
	if q.first == "" {
		q.first = fmt.Sprintf("%s: %v", path, why)
	}
	dir := s.path(record.QuarantineDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return
	}
	base := s.Now().UTC().Format("20060102T150405.000000000Z") + "-" + strings.TrimLeft(filepath.Base(path), ".")
	for n := range 1000 {
		to := filepath.Join(dir, base)
		if n > 0 {
			to += fmt.Sprintf("-%d", n)
		}
		if _, err := os.Lstat(to); err == nil {
			continue
		}
		if err := os.Rename(s.path(path), to); err != nil {
			s.Log.Warn("cannot put away what makes no sense", "path", s.path(path), "error", err)
		}
		break
	}
	s.pruneQuarantine()
}

// report logs one line, however much there was.
func (q *quarantine) report() {
	if q.moved > 0 {
		q.store.Log.Warn("put into the quarantine what makes no sense as a crash record",
			"count", q.moved, "first", q.first, "directory", q.store.path(record.QuarantineDir))
	}
}

// pruneQuarantine removes the oldest entries beyond the bounds. Their names
// begin with the time.
func (s *Store) pruneQuarantine() {
	dir := s.path(record.QuarantineDir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	var count int
	var bytes int64
	for _, e := range slices.Backward(entries) {
		path := filepath.Join(dir, e.Name())
		count++
		bytes += treeBytes(path)
		if count > quarantineEntries || bytes > quarantineBytes && count > 1 {
			if err := os.RemoveAll(path); err != nil {
				s.Log.Warn("cannot empty the quarantine", "path", path, "error", err)
			}
		}
	}
}

// treeBytes is what removing a directory of files would free.
func treeBytes(dir string) int64 {
	entries, err := os.ReadDir(dir)
	if err != nil {
		f, _ := stat(dir)
		return f.ours()
	}
	var sum int64
	for _, e := range entries {
		if f, err := stat(filepath.Join(dir, e.Name())); err == nil {
			sum += f.ours()
		}
	}
	return sum
}
