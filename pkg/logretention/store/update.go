package store

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// Find gives the record of a container.
func (s *Store) Find(containerID string) (record.Entry, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.byID[containerID]
	if !ok {
		return record.Entry{}, false
	}
	return k.Entry, true
}

// Update changes the facts of the record at a path below the root. It may
// change neither what identifies the record nor its segments and gaps. The
// error is ErrNoRecord if there is no such record.
func (s *Store) Update(path string, change func(*record.Meta)) error {
	err := s.mutate(func() error { return s.update(path, change) })
	if err != nil {
		return fmt.Errorf("change record %s: %w", path, err)
	}
	return nil
}

func (s *Store) update(at string, change func(*record.Meta)) error {
	if at != path.Clean(at) || strings.HasPrefix(at, ".") || strings.Count(at, "/") != 2 || !record.IsID(path.Base(at)) {
		return ErrNoRecord
	}
	// From the file: another process may have changed it a moment ago.
	meta, err := s.readMeta(s.path(at))
	if missing(err) {
		return ErrNoRecord
	}
	if err != nil {
		return err
	}
	changed := meta
	change(&changed)
	changed.APIVersion, changed.Kind, changed.ID, changed.Attempt = meta.APIVersion, meta.Kind, meta.ID, meta.Attempt
	changed.Segments, changed.Gaps = meta.Segments, meta.Gaps
	data, err := encode(changed)
	if err == nil {
		err = record.Decode(data, new(record.Meta))
	}
	if err != nil {
		return err
	}
	if err := s.put(filepath.Join(s.path(at), record.MetaFile), data, true); err != nil {
		return err
	}
	if s.updater {
		return s.lock.tell()
	}
	if k, ok := s.records[at]; ok {
		k.Meta = changed
		s.measure(k)
	}
	s.indexes.touch(at)
	return s.flush()
}

// Hold keeps the record from eviction and from being cut, until Release.
func (s *Store) Hold(path, reason string) error {
	return s.Update(path, func(m *record.Meta) {
		m.Hold = &record.Hold{Since: s.Now().UTC(), Reason: reason}
	})
}

// Release ends a hold.
func (s *Store) Release(path string) error {
	return s.Update(path, func(m *record.Meta) { m.Hold = nil })
}
