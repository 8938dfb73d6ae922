package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"hash/fnv"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/internal/statefile"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// liveIndexPause is the least time between two writes of the root's index that
// only live attempts changed: when a node starts, a hundred containers do.
const liveIndexPause = 2 * time.Second

// indexes knows which index files are out of date.
type indexes struct {
	root bool
	// dirs are directories of pods and containers below the root.
	dirs map[string]bool
	// written is a hash of what each file says, but for its time.
	written   map[string]uint64
	rootWrite time.Time
}

func newIndexes() indexes {
	return indexes{dirs: map[string]bool{}, written: map[string]uint64{}}
}

func (x *indexes) touchRoot() { x.root = true }

// touch marks the indexes that tell of the record at a path.
func (x *indexes) touch(record string) {
	x.root = true
	container := path.Dir(record)
	x.dirs[container], x.dirs[path.Dir(container)] = true, true
}

// all marks the root; load marks the rest with each record.
func (x *indexes) all() { x.root = true }

// Index lists all records and live attempts.
func (s *Store) Index() record.Index {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.index("")
}

// Flush writes the indexes that are out of date.
func (s *Store) Flush() error { return s.mutate(s.flush) }

// flushLive writes the root's index unless that was done a moment ago.
func (s *Store) flushLive() error {
	if passed := s.Now().Sub(s.indexes.rootWrite); s.indexes.root && (passed >= liveIndexPause || passed < 0) {
		if err := s.flush(); err != nil {
			s.Log.Warn("cannot write the index of crash records", "error", err)
		}
	}
	return nil
}

func (s *Store) flush() error {
	var errs []error
	for dir := range s.indexes.dirs {
		err := s.writeIndex(dir)
		if err != nil && !missing(err) { // its last record was evicted
			errs = append(errs, err)
			continue
		}
		delete(s.indexes.dirs, dir)
	}
	if s.indexes.root {
		err := s.writeIndex("")
		s.indexes.root = err != nil
		s.indexes.rootWrite = s.Now()
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// index is the index of a directory: "", NAMESPACE_POD or
// NAMESPACE_POD/CONTAINER.
func (s *Store) index(dir string) record.Index {
	x := record.Index{
		APIVersion: record.APIVersion, Kind: record.KindIndex,
		Node: s.Node, BootID: s.BootID, Updated: s.Now().UTC(), Records: []record.Entry{},
	}
	inside := func(path string) bool { return dir == "" || path == dir || strings.HasPrefix(path, dir+"/") }
	for p, k := range s.records {
		if inside(p) {
			x.Records = append(x.Records, k.Entry)
		}
	}
	slices.SortFunc(x.Records, func(a, b record.Entry) int {
		return cmp.Or(ended(&a.Meta).Compare(ended(&b.Meta)), strings.Compare(a.Path, b.Path))
	})
	for container, c := range s.counters {
		if c.Dropped > 0 && inside(container) {
			if x.Dropped == nil {
				x.Dropped = map[string]int{}
			}
			x.Dropped[container] = c.Dropped
		}
	}
	if dir == "" {
		for _, l := range s.sortedLives() {
			x.Live = append(x.Live, record.Live{
				Path: liveDir(l.birth.ContainerID), Birth: l.birth,
				Segments: orEmpty(slices.Clone(l.segments)), Gaps: slices.Clone(l.gaps),
			})
		}
	}
	return x
}

func (s *Store) writeIndex(dir string) error {
	x := s.index(dir)
	updated := x.Updated
	x.Updated = time.Time{} // when it was written is no change
	data, err := encodeIndex(&x)
	if err != nil {
		return err
	}
	h := fnv.New64a()
	h.Write(data)
	sum := h.Sum64()
	file := path.Join(dir, record.IndexFile)
	if written, ok := s.indexes.written[file]; ok && written == sum || !ok && s.says(file, data) {
		s.indexes.written[file] = sum
		return nil
	}
	data = dated(data, updated)
	err = s.put(s.path(file), data, false)
	if at, statErr := os.Lstat(s.path(file)); err != nil && statErr == nil && at.IsDir() {
		// No file can take the place of a directory.
		q := s.newQuarantine()
		q.add(file, err)
		q.report()
		err = s.put(s.path(file), data, false)
	}
	if err != nil {
		return err
	}
	s.indexes.written[file] = sum
	s.Step("index:written")
	return nil
}

// dated puts the time into an index that was encoded without one. Inside of
// texts the quotes would be escaped.
func dated(data []byte, updated time.Time) []byte {
	field := func(t time.Time) []byte { return []byte(`"updated":"` + t.Format(time.RFC3339Nano) + `"`) }
	return bytes.Replace(data, field(time.Time{}), field(updated), 1)
}

// says tells whether the file has this content already, but for its time.
func (s *Store) says(file string, want []byte) bool {
	data, err := statefile.Read(s.path(file), record.MaxIndexBytes)
	if err != nil {
		return false
	}
	var x record.Index
	if record.Decode(data, &x) != nil {
		return false
	}
	x.Updated = time.Time{}
	data, err = encodeIndex(&x)
	return err == nil && bytes.Equal(data, want)
}

// encodeIndex leaves out the oldest records where the index would be larger
// than readers take; they are in the indexes of pods and containers.
func encodeIndex(x *record.Index) ([]byte, error) {
	for {
		data, err := json.Marshal(x)
		if err != nil || len(data) < record.MaxIndexBytes {
			return append(data, '\n'), err
		}
		if len(x.Records) == 0 {
			x.Live = nil
			continue
		}
		x.Records = x.Records[(len(x.Records)+7)/8:]
	}
}
