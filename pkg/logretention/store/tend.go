package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/retention"
)

// Tend does what the settings ask for: it evicts and cuts records, compresses
// logs, takes the reserve back, and writes the indexes. It works on one file at
// a time, lets others at the store in between, and stops when ctx ends. Errors
// are of single records; the rest has been done.
func (s *Store) Tend(ctx context.Context) error {
	var decisions []retention.Decision
	err := s.mutate(func() error {
		s.look()
		decisions = s.decide()
		return nil
	})
	if err != nil {
		return fmt.Errorf("tend crash records: %w", err)
	}
	var errs []error
	for _, d := range decisions {
		if ctx.Err() != nil {
			break
		}
		errs = append(errs, s.mutate(func() error { return s.carry(d) }))
	}
	if s.Retention.Compress {
		errs = append(errs, s.compress(ctx))
	}
	errs = append(errs, s.mutate(s.tidy), ctx.Err())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("tend crash records: %w", err)
	}
	return nil
}

// look measures all records again: what the kubelet lets go of becomes ours,
// and somebody may have removed one.
func (s *Store) look() {
	s.reread()
	for _, k := range s.records {
		if _, err := os.Lstat(s.path(k.Path)); missing(err) {
			s.Log.Warn("somebody removed a crash record", "path", k.Path)
			s.forget(k)
			s.indexes.touch(k.Path)
			continue
		}
		s.measure(k)
	}
	for _, l := range s.lives {
		l.refresh()
	}
}

// tidy writes down what was decided and done.
func (s *Store) tidy() error {
	now := s.Now()
	for key, c := range s.counters {
		if now.Sub(c.Recorded) > 2*s.Retention.MaxAge.Duration && !s.known(key) {
			delete(s.counters, key)
			s.uncounted, s.indexes.root = true, true
		}
	}
	s.pruneQuarantine()
	var errs []error
	if s.uncounted {
		errs = append(errs, s.writeCounters())
	}
	errs = append(errs, s.flush())
	if err := s.reserve.restore(s.disk()); !isFull(err) {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (s *Store) known(container string) bool {
	for path := range s.records {
		if strings.HasPrefix(path, container+"/") {
			return true
		}
	}
	return false
}

func (s *Store) decide() []retention.Decision {
	disk := s.disk()
	limits := retention.For(s.Retention, disk.Size)
	// Live attempts count, but are pruned elsewhere.
	limits.MaxUse = max(0, limits.MaxUse-s.liveBytes())
	items := make([]retention.Item, 0, len(s.records))
	for _, k := range s.records {
		items = append(items, k.item())
	}
	return retention.Decide(limits, s.Now(), disk, items)
}

func (k *kept) item() retention.Item {
	i := retention.Item{
		Path: k.Path, Container: path.Dir(k.Path), PodUID: k.PodUID, Boot: k.BootID,
		Start: began(&k.Meta), Finish: ended(&k.Meta),
		Index: k.Series.Index, Class: k.Class, Bytes: k.bytes, Log: k.log, Held: k.Hold != nil,
	}
	if k.Series.Began != nil {
		i.Began = *k.Series.Began
	}
	return i
}

// makeRoom carries out at once what would give room, and nothing else.
func (s *Store) makeRoom() error {
	var errs []error
	for _, d := range s.decide() {
		errs = append(errs, s.carry(d))
	}
	return errors.Join(errs...)
}

// carry carries out one decision.
func (s *Store) carry(d retention.Decision) error {
	k, ok := s.records[d.Path]
	if !ok {
		return nil
	}
	// Another process may have put it on hold since.
	if meta, err := s.readMeta(s.path(d.Path)); err == nil {
		k.Meta = meta
	}
	if k.Hold != nil {
		return nil
	}
	s.Log.Info("crash record: "+d.Act.String(), "path", d.Path, "reason", d.Reason)
	var b budget
	switch d.Act {
	case retention.Evict:
		return s.evict(k, d.Cause)
	case retention.Trim:
		b = s.trimmed(d.Reason)
	case retention.TailOnly:
		b = tailOnly
	case retention.MetaOnly:
		b = metaOnly
	}
	b.reason = d.Reason
	err := s.shrinkRecord(k, b)
	if isFull(err) && d.Act != retention.MetaOnly {
		// Not even the copy of the tail has room.
		b = metaOnly
		b.reason = d.Reason
		err = s.shrinkRecord(k, b)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", d.Act, d.Path, err)
	}
	return nil
}

// evict removes a record. It disappears whole, by a rename.
func (s *Store) evict(k *kept, cause retention.Cause) error {
	gone := s.path(temporary + "evict-" + k.ID)
	if err := os.RemoveAll(gone); err != nil {
		return err
	}
	if err := s.rename(s.path(k.Path), gone); err != nil {
		return err
	}
	s.Step("evict:renamed")
	s.forget(k)
	s.countDropped(path.Dir(k.Path))
	s.evicted++
	s.evictions[cause]++
	err := os.RemoveAll(gone)
	s.Step("evict:removed")
	s.removeEmpty(path.Dir(k.Path))
	return err
}

// removeEmpty removes the directory of a container, and that of its pod, if
// there is nothing left in them but an index.
func (s *Store) removeEmpty(container string) {
	for _, dir := range []string{container, path.Dir(container)} {
		entries, err := os.ReadDir(s.path(dir))
		if err != nil || len(entries) > 1 || len(entries) == 1 && entries[0].Name() != record.IndexFile {
			return
		}
		if err := errors.Join(removeFiles(s.path(dir), record.IndexFile), os.Remove(filepath.Clean(s.path(dir)))); err != nil {
			s.Log.Debug("cannot remove an empty directory", "path", dir, "error", err)
		}
		delete(s.indexes.written, path.Join(dir, record.IndexFile))
		delete(s.indexes.dirs, dir)
	}
}
