package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/nodekeeper/nodekeeper/internal/statefile"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// maxMessage bounds what CRI says about an exit, so that meta.json stays below
// what readers take for one.
const maxMessage = 64 << 10

// maxSameID is how many records of one start, pod and attempt there may be.
const maxSameID = 999

// Publish makes a record of a live attempt. Of m, what only the store knows is
// filled in (ID, Segments, Gaps, FirstRecord, LastRecord, Series, Recorded),
// and what m leaves empty and its birth says. Publishing again gives the same
// record. Once it has returned without an error the record is durable; with an
// error the attempt is live as before, but for ErrDropped.
func (s *Store) Publish(l *Live, m record.Meta) (record.Entry, error) {
	var e record.Entry
	err := s.mutate(func() error {
		id := l.birth.ContainerID
		if k := s.byID[id]; k != nil {
			e = k.Entry
			return nil
		}
		if s.lives[id] != l {
			return fmt.Errorf("container %s is not live", id)
		}
		l.refresh()
		l.adopt()
		l.fill(&m)
		k, err := s.publish(l, m)
		if err == nil {
			e = k.Entry
		}
		return err
	})
	if err != nil {
		return record.Entry{}, fmt.Errorf("record the end of container %s: %w", l.birth.ContainerID, err)
	}
	return e, nil
}

// fill completes a record from what the store knows of the attempt.
func (l *Live) fill(m *record.Meta) {
	b, s := &l.birth, l.store
	m.APIVersion, m.Kind = record.APIVersion, record.KindRecord
	attempt := m.Attempt
	m.Attempt = b.Attempt
	for _, x := range []struct {
		to   *string
		from string
	}{
		{&m.SandboxID, attempt.SandboxID}, {&m.Revision, attempt.Revision},
		{&m.Image, b.Image}, {&m.ImageRef, b.ImageRef}, {&m.SpecHash, b.SpecHash}, {&m.LogPath, b.LogPath},
		{&m.BootID, b.BootID}, {&m.Node, s.Node},
	} {
		if *x.to == "" {
			*x.to = x.from
		}
	}
	if len(m.BornBy) == 0 && b.By != "" {
		m.BornBy = []record.Source{b.By}
	}
	if len(m.Message) > maxMessage {
		m.Message = m.Message[:maxMessage] + " [cut]"
	}
	m.Recorded = s.Now().UTC()
	m.FirstRecord, m.LastRecord = stamps(l.dir, l.segments)
	m.Series = s.series(m)
}

// publish goes down the ladder for scarce space: what it costs others first,
// then the log, then the record.
func (s *Store) publish(l *Live, m record.Meta) (*kept, error) {
	for _, rung := range []func() error{
		nil,
		s.makeRoom,
		func() error { return s.shrinkLive(l, tailOnly) },
		func() error { return s.shrinkLive(l, metaOnly) },
		l.sacrifice,
	} {
		if rung != nil {
			if err := rung(); err != nil {
				s.Log.Debug("cannot make room for a record", "containerID", l.birth.ContainerID, "error", err)
			}
		}
		m.Segments, m.Gaps = orEmpty(slices.Clone(l.segments)), slices.Clone(l.gaps)
		k, err := s.tryPublish(l, m)
		if !isFull(err) {
			return k, err
		}
	}
	s.drop(l)
	return nil, ErrDropped
}

// drop gives an attempt up, but for the counter.
func (s *Store) drop(l *Live) {
	id := l.birth.ContainerID
	if err := os.RemoveAll(l.dir); err != nil {
		s.Log.Warn("cannot remove an attempt that there is no room for", "path", l.dir, "error", err)
	}
	delete(s.lives, id)
	l.done = &kept{}
	s.countDropped(record.ContainerDir(l.birth.Namespace, l.birth.Pod, l.birth.Container))
	s.indexes.touchRoot()
	if err := errors.Join(s.writeCounters(), s.flush()); err != nil {
		s.Log.Warn("cannot write down that a record was dropped", "error", err)
	}
}

func (s *Store) tryPublish(l *Live, m record.Meta) (*kept, error) {
	s.Step("publish:filled")
	m.ID = s.freeID(&m)
	data, err := encode(m)
	if err == nil && len(data) > record.MaxMetaBytes {
		err = fmt.Errorf("%s of %d bytes", record.MetaFile, len(data))
	}
	if err == nil {
		// What could not be read back would be lost.
		err = record.Decode(data, new(record.Meta))
	}
	if err != nil {
		return nil, err
	}
	if err := s.put(filepath.Join(l.dir, record.MetaFile), data, true); err != nil {
		return nil, err
	}
	s.Step("publish:meta")
	k, err := s.move(l, m)
	if err != nil {
		// meta.json stays: if it is not tried again, the next Open carries on.
		return nil, err
	}
	s.settle(l, k)
	return k, nil
}

// freeID is the record's name: its ID, or that with a number where the clock or
// the attempt number came again.
func (s *Store) freeID(m *record.Meta) string {
	id := record.ID(began(m), m.PodUID, m.Attempt.Attempt)
	if !record.IsID(id) {
		id = record.ID(time.Unix(0, 0), m.PodUID, m.Attempt.Attempt)
	}
	dir := s.path(containerOf(m))
	for n := 1; n <= maxSameID; n++ {
		name := id
		if n > 1 {
			name += "-" + strconv.Itoa(n)
		}
		if _, err := os.Lstat(filepath.Join(dir, name)); missing(err) {
			return name
		}
	}
	return id
}

// move renames the live directory, which has a meta.json, to the record's.
func (s *Store) move(l *Live, m record.Meta) (*kept, error) {
	container := containerOf(&m)
	if err := s.makeDirs(container); err != nil {
		return nil, err
	}
	s.Step("publish:parents")
	path := path.Join(container, m.ID)
	err := s.publishAs(l.dir, s.path(path))
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s exists already: %w", path, err)
	}
	if err != nil {
		return nil, err
	}
	s.Step("publish:renamed")
	for _, dir := range []string{container, record.LiveDir} {
		if err := statefile.SyncDir(s.path(dir)); err != nil {
			s.Log.Warn("a record may not survive a power cut", "path", path, "error", err)
		}
	}
	s.Step("publish:synced")
	k := &kept{Entry: record.Entry{Path: path, Meta: m}}
	return k, nil
}

// makeDirs makes NAMESPACE_POD/CONTAINER.
func (s *Store) makeDirs(container string) error {
	for _, dir := range []string{filepath.Dir(container), container} {
		err := s.withReserve(func() error { return os.Mkdir(s.path(dir), 0o700) })
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			err = statefile.SyncDir(filepath.Dir(s.path(dir)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// settle brings everything else in line with a record that is there. What it
// cannot write is written by a later flush.
func (s *Store) settle(l *Live, k *kept) {
	if err := removeFiles(s.path(k.Path), record.BirthFile, record.CaptureFile, copiesFile); err != nil {
		s.Log.Debug("cannot remove a birth certificate", "path", k.Path, "error", err)
	}
	s.Step("publish:tidied")
	s.measure(k)
	s.keep(k)
	delete(s.lives, k.ContainerID)
	l.done = k
	s.count(&k.Meta)
	s.indexes.touch(k.Path)
	if err := s.writeCounters(); err != nil {
		s.Log.Warn("cannot write the counters of crash records", "error", err)
	}
	s.Step("publish:counted")
	if err := s.flush(); err != nil {
		s.Log.Warn("cannot write the index of crash records", "error", err)
	}
	s.Step("publish:indexed")
}

// finishPublish carries on where a process ended between meta.json and the
// rename; false if the attempt is still live.
func (s *Store) finishPublish(l *Live) bool {
	meta, err := s.readMeta(l.dir)
	if err != nil {
		if !missing(err) {
			s.Log.Warn("an attempt was being recorded and is live again", "path", l.dir, "error", err)
		}
		_ = removeFiles(l.dir, record.MetaFile)
		return false
	}
	if meta.ContainerID != l.birth.ContainerID {
		_ = removeFiles(l.dir, record.MetaFile)
		return false
	}
	meta.Segments, meta.Gaps = orEmpty(l.segments), l.gaps
	if _, err := s.tryPublish(l, meta); err != nil {
		s.Log.Warn("cannot finish a record", "path", l.dir, "error", err)
		return false
	}
	return true
}
