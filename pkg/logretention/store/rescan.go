package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nodekeeper/nodekeeper/internal/statefile"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// Rescan picks up what the hook made since: new attempts, which it returns,
// and new segments of known ones. A directory that has had no readable
// birth.json for a minute goes into the quarantine, links and all. An attempt
// whose directory somebody removed is none any more, and may begin again.
func (s *Store) Rescan() ([]*Live, error) {
	var found []*Live
	err := s.mutate(func() error {
		for id, l := range s.lives {
			if _, err := os.Lstat(l.dir); missing(err) {
				s.Log.Warn("somebody removed a live attempt", "path", l.dir)
				delete(s.lives, id)
				l.done = &kept{}
				s.indexes.touchRoot()
				continue
			}
			l.adopt()
		}
		q := s.newQuarantine()
		found = s.loadLives(q)
		q.report()
		return s.flushLive()
	})
	if err != nil {
		return found, fmt.Errorf("look for live attempts: %w", err)
	}
	return found, nil
}

// loadLives reads the attempts that are not known yet.
func (s *Store) loadLives(q *quarantine) []*Live {
	entries, err := os.ReadDir(s.path(record.LiveDir))
	if missing(err) {
		err = os.MkdirAll(s.path(record.LiveDir), 0o700)
	}
	if err != nil {
		s.Log.Warn("cannot read live attempts", "error", err)
		return nil
	}
	var found []*Live
	for _, e := range entries {
		id := e.Name()
		if _, known := s.lives[id]; known || unfinished(id) {
			continue
		}
		path := liveDir(id)
		if !e.IsDir() {
			q.add(path, errors.New("not a directory"))
			continue
		}
		if s.leftover(id) {
			continue
		}
		l, err := s.readLive(id)
		switch {
		case err == nil:
			if !s.finishPublish(l) {
				s.addLive(l)
				found = append(found, l)
			}
		case !s.olderThan(e, strangersAge):
			// The hook may be writing it.
		case os.Remove(s.path(path)) == nil:
			// It was empty.
		default:
			q.add(path, err)
		}
	}
	return found
}

// leftover removes a live directory of an attempt that has been recorded, if
// the record has all of its log: the hook made it again.
func (s *Store) leftover(id string) bool {
	k, ok := s.byID[id]
	if !ok {
		return false
	}
	dir := s.path(liveDir(id))
	have := map[inode]bool{}
	for _, name := range segmentFiles(s.path(k.Path)) {
		if f, err := stat(filepath.Join(s.path(k.Path), name)); err == nil {
			have[f.id] = true
		}
	}
	for _, name := range segmentFiles(dir) {
		if f, err := stat(filepath.Join(dir, name)); err != nil || !have[f.id] {
			q := s.newQuarantine()
			q.add(liveDir(id), errors.New("its attempt is recorded, without this log"))
			q.report()
			return true
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		s.Log.Warn("cannot remove the live directory of a recorded attempt", "path", dir, "error", err)
	}
	return true
}

// readLive reads .live/ID.
func (s *Store) readLive(id string) (*Live, error) {
	l := &Live{store: s, dir: s.path(liveDir(id))}
	if err := s.resume(l.dir); err != nil {
		return nil, err
	}
	var err error
	if l.birth, err = readBirth(l.dir); err != nil {
		return nil, err
	}
	var c record.Capture
	data, err := statefile.Read(filepath.Join(l.dir, record.CaptureFile), record.MaxMetaBytes)
	if err == nil {
		err = record.Decode(data, &c)
	}
	if err == nil {
		l.segments, l.gaps = c.Segments, c.Gaps
	} else if !missing(err) {
		s.Log.Warn("cannot read what was captured; going by the files", "path", l.dir, "error", err)
	}
	l.copies = readCopies(l.dir)
	l.adopt()
	return l, nil
}
