package store

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/nodekeeper/nodekeeper/internal/statefile"
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
		s.patchIndexes(record.Entry{Path: at, Meta: changed})
		return s.lock.tell()
	}
	if k, ok := s.records[at]; ok {
		k.Meta = changed
		s.measure(k)
	}
	s.indexes.touch(at)
	return s.flush()
}

// patchIndexes brings one record up to date in the indexes, for readers that
// come before the agent does it, or while there is none. An index is a cache:
// that it cannot be written is no error.
func (s *Store) patchIndexes(e record.Entry) {
	container := path.Dir(e.Path)
	for _, dir := range []string{container, path.Dir(container), ""} {
		file := s.path(path.Join(dir, record.IndexFile))
		data, err := statefile.Read(file, record.MaxIndexBytes)
		if err != nil {
			continue
		}
		var x record.Index
		if record.Decode(data, &x) != nil {
			continue
		}
		for i := range x.Records {
			if x.Records[i].Path == e.Path {
				x.Records[i] = e
			}
		}
		if data, err = encodeIndex(&x); err == nil {
			_ = s.put(file, data, false)
		}
	}
}

// Hold keeps the record from eviction and from being cut, until Release.
func (s *Store) Hold(path, reason string) error {
	return s.Update(path, func(m *record.Meta) {
		if m.Hold != nil && reason == "" {
			return // it has a reason already
		}
		m.Hold = &record.Hold{Since: s.Now().UTC(), Reason: reason}
	})
}

// Release ends a hold.
func (s *Store) Release(path string) error {
	return s.Update(path, func(m *record.Meta) { m.Hold = nil })
}
