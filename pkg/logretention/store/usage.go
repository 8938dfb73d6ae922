package store

import (
	"maps"
	"os"
	"path/filepath"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/retention"
)

// Usage is what records take. Bytes are blocks that nobody else holds: a log
// that the kubelet still has costs nothing.
type Usage struct {
	Records, Live int
	// Bytes of records and live attempts together.
	Bytes int64
	// Limit is what Bytes may be, in all.
	Limit int64
	// Evicted counts records evicted by this process, Dropped all that were
	// ever evicted or could not be made, of the containers still known.
	Evicted, Dropped int
	// Evictions is Evicted by the limit that was kept. The caller owns it.
	Evictions map[retention.Cause]int
	// Reserve tells whether the reserve for a full disk is there.
	Reserve bool
}

// Usage tells what records take, as far as it was measured by the last Tend.
func (s *Store) Usage() Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := Usage{
		Records: len(s.records), Live: len(s.lives), Evicted: s.evicted, Evictions: maps.Clone(s.evictions),
		Limit:   retention.For(s.Retention, s.disk().Size).MaxUse,
		Reserve: s.reserve.held(), Dropped: s.counters.dropped(),
		Bytes: s.liveBytes(),
	}
	for _, k := range s.records {
		u.Bytes += k.bytes
	}
	return u
}

// usage is what one record takes.
type usage struct {
	// bytes would be freed by its removal; log is the part of its segments.
	bytes, log int64
}

// measure looks at a record's files.
func (s *Store) measure(k *kept) {
	dir := s.path(k.Path)
	k.usage = usage{log: logBytes(dir, k.Segments)}
	k.bytes = k.log
	if f, err := stat(filepath.Join(dir, record.MetaFile)); err == nil {
		k.changed = f
		k.bytes += f.blocks
	}
	if info, err := os.Lstat(dir); err == nil {
		k.bytes += info.Size()
	}
}

func logBytes(dir string, segments []record.Segment) int64 {
	var sum int64
	for _, seg := range segments {
		if f, err := stat(filepath.Join(dir, seg.Name)); err == nil {
			sum += f.ours()
		}
	}
	return sum
}

func (s *Store) liveBytes() int64 {
	var sum int64
	for _, l := range s.lives {
		sum += logBytes(l.dir, l.segments)
	}
	return sum
}
