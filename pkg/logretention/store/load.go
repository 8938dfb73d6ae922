package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/internal/regularfile"
	"github.com/nodekeeper/nodekeeper/internal/statefile"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// kept is one record as the store knows it.
type kept struct {
	record.Entry
	// changed is meta.json's identity when it was read.
	changed file
	usage
	// dense are segments that compression does not make smaller.
	dense map[string]bool
}

// load reads the root. An error means that the root cannot be worked with;
// what is wrong with one record never is one.
func (s *Store) load() error {
	if err := os.Mkdir(s.path(record.LiveDir), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	top, err := os.ReadDir(s.Root)
	if err != nil {
		return err
	}
	s.readCounters()
	q := s.newQuarantine()
	for _, e := range top {
		switch name := e.Name(); {
		case unfinished(name):
			if err := os.RemoveAll(s.path(name)); err != nil {
				s.Log.Warn("cannot remove what was left unfinished", "path", s.path(name), "error", err)
			}
		case e.IsDir() && !strings.HasPrefix(name, "."):
			s.loadPod(name, q)
		}
	}
	s.loadLives(q)
	s.countRecords()
	q.report()
	if err := s.reserve.restore(s.disk()); err != nil && !isFull(err) {
		s.Log.Warn("no reserve for a full disk", "error", err)
	}
	s.indexes.all()
	if err := s.flush(); err != nil {
		// It is a cache, and is tried again with each change.
		s.Log.Warn("cannot write the index of crash records", "error", err)
	}
	return nil
}

// errSenseless: what was read is not what a record consists of.
var errSenseless = errors.New("no crash record")

// loadPod reads what has the shape of NAMESPACE_POD/CONTAINER/ID; other names
// are somebody else's.
func (s *Store) loadPod(pod string, q *quarantine) {
	for _, container := range directories(s.path(pod)) {
		dir := filepath.Join(pod, container)
		for _, id := range directories(s.path(dir)) {
			if !record.IsID(id) {
				continue
			}
			path := filepath.Join(dir, id)
			k, err := s.readRecord(path)
			switch {
			case err == nil:
				s.keep(k)
				s.indexes.touch(path)
			case errors.Is(err, errSenseless), missing(err):
				q.add(path, err)
			default:
				// The disk may be better tomorrow.
				s.Log.Warn("cannot read a crash record", "path", path, "error", err)
			}
		}
	}
}

func directories(path string) []string {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

func (s *Store) keep(k *kept) {
	s.records[k.Path] = k
	s.byID[k.ContainerID] = k
}

func (s *Store) forget(k *kept) {
	delete(s.records, k.Path)
	if s.byID[k.ContainerID] == k {
		delete(s.byID, k.ContainerID)
	}
}

// readRecord reads and repairs the record at a path below the root.
func (s *Store) readRecord(path string) (*kept, error) {
	dir := s.path(path)
	if err := s.resume(dir); err != nil {
		return nil, err
	}
	meta, err := s.readMeta(dir)
	if err != nil {
		return nil, err
	}
	if want := record.ContainerDir(meta.Namespace, meta.Pod, meta.Container) + "/" + meta.ID; want != path {
		return nil, fmt.Errorf("%w: it says that it is %s", errSenseless, want)
	}
	if err := removeFiles(dir, record.BirthFile, record.CaptureFile, copiesFile); err != nil {
		s.Log.Debug("cannot remove a birth certificate", "path", dir, "error", err)
	}
	k := &kept{Entry: record.Entry{Path: path, Meta: meta}}
	if s.reconcile(dir, &k.Segments, &k.Gaps) {
		if err := s.putJSON(filepath.Join(dir, record.MetaFile), k.Meta, true); err != nil {
			s.Log.Warn("cannot write what a record has lost", "path", dir, "error", err)
		}
	}
	s.measure(k)
	return k, nil
}

func (s *Store) readMeta(dir string) (record.Meta, error) {
	path := filepath.Join(dir, record.MetaFile)
	if err := s.failing("read", path); err != nil {
		return record.Meta{}, err
	}
	data, err := statefile.Read(path, record.MaxMetaBytes)
	if errors.Is(err, statefile.ErrTooLarge) || errors.Is(err, regularfile.ErrNotRegular) {
		err = fmt.Errorf("%w: %w", errSenseless, err)
	}
	if err != nil {
		return record.Meta{}, err
	}
	var meta record.Meta
	if err := record.Decode(data, &meta); err != nil {
		return record.Meta{}, fmt.Errorf("%w: %s: %w", errSenseless, record.MetaFile, err)
	}
	return meta, nil
}

// reread looks again at the records that another process may have changed.
func (s *Store) reread() {
	for _, k := range s.records {
		now, err := stat(filepath.Join(s.path(k.Path), record.MetaFile))
		if err == nil && now.id == k.changed.id && now.mtime == k.changed.mtime {
			continue
		}
		meta, err := s.readMeta(s.path(k.Path))
		if err != nil {
			continue // Tend finds out what became of it
		}
		k.Meta = meta
		s.measure(k)
		s.indexes.touch(k.Path)
	}
}

// strangersAge is how long an unfinished file that may be the hook's is left
// alone: the hook has a deadline of a fraction of a second.
const strangersAge = time.Minute

// sweep removes unfinished files of one record or live attempt.
func (s *Store) sweep(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		if !unfinished(name) || !s.ours(name) && !s.olderThan(e, strangersAge) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !missing(err) {
			return err
		}
	}
	return nil
}

// ours tells the store's temporary names from the hook's.
func (s *Store) ours(name string) bool {
	rest := strings.TrimPrefix(strings.TrimPrefix(name, temporary), temporary)
	_, _, segment := record.ParseSegment(rest)
	return segment || slices.Contains([]string{"plan", "body", "begin", record.MetaFile, record.CaptureFile, copiesFile}, rest)
}

func (s *Store) olderThan(e fs.DirEntry, age time.Duration) bool {
	info, err := e.Info()
	return err == nil && s.Now().Sub(info.ModTime()) > age
}
