package store

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/retention"
)

// Errors that callers tell apart.
var (
	// ErrRecorded: the attempt has been recorded already.
	ErrRecorded = errors.New("already recorded")
	// ErrDropped: there was no room for even the facts of an attempt, which has
	// been counted and given up.
	ErrDropped = errors.New("no room for a record: counted only")
	// ErrNoRecord: there is no such record.
	ErrNoRecord = errors.New("no such record")
	// ErrBusy: another process keeps the root locked.
	ErrBusy = errors.New("record root is locked by another process")
)

// Options of a store. Root, Now and Log must be set.
type Options struct {
	// Root is the record root, made if it does not exist.
	Root string
	// Node and BootID go into indexes and, where the caller leaves them out,
	// into records.
	Node, BootID string
	Retention    config.Retention
	Now          func() time.Time
	Log          *slog.Logger
	// Step, if set, is called between all steps of what changes the disk, so
	// that a test can end the process there.
	Step func(name string)
	// fault, if set, may fail an operation: "write", "rename", "link", "read".
	fault func(operation, path string) error
}

// Store is an open record root.
type Store struct {
	Options
	limits limits
	lock   *lockFile

	mu       sync.Mutex       // guards everything below, and with it the files
	records  map[string]*kept // by path below the root
	byID     map[string]*kept // by container ID
	lives    map[string]*Live // by container ID
	counters counters
	// uncounted is set while countersFile says something else.
	uncounted bool
	reserve   reserve
	indexes   indexes
	evicted   int
	evictions map[retention.Cause]int // evicted, by what for
	updater   bool                    // OpenForUpdate: no index of everything is kept
}

// Rename sets the node's name in what is written from now on.
func (s *Store) Rename(node string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Node = node
	s.indexes.touchRoot()
	for at := range s.records {
		s.indexes.touch(at)
	}
}

// OpenForUpdate opens the root beside the agent that works on it, for Hold,
// Release and Update only: it reads nothing beforehand and repairs nothing.
// The agent takes the change up with its next change or Tend. The root must
// exist.
func OpenForUpdate(root string) (*Store, error) {
	if _, err := os.Stat(filepath.Join(root, record.LiveDir)); err != nil {
		return nil, fmt.Errorf("record root: %w", err)
	}
	return open(Options{Root: root, Now: time.Now, Log: slog.New(slog.DiscardHandler)}, true)
}

// Open makes the root ready, finishes or removes what an earlier process left
// unfinished, and reads all records. What makes no sense is put into the
// quarantine, with one line in the log.
func Open(o Options) (*Store, error) {
	if err := os.MkdirAll(o.Root, 0o700); err != nil {
		return nil, fmt.Errorf("record root: %w", err)
	}
	s, err := open(o, false)
	if err != nil {
		return nil, err
	}
	if err := s.mutate(s.load); err != nil {
		_ = s.lock.Close()
		return nil, fmt.Errorf("record root %s: %w", o.Root, err)
	}
	return s, nil
}

func open(o Options, updater bool) (*Store, error) {
	if o.Step == nil {
		o.Step = func(string) {}
	}
	s := &Store{
		Options: o,
		limits:  limitsOf(o.Retention),
		records: map[string]*kept{}, byID: map[string]*kept{}, lives: map[string]*Live{},
		counters: counters{}, evictions: map[retention.Cause]int{}, updater: updater,
	}
	s.reserve.dir = filepath.Join(o.Root, reserveDir)
	s.indexes = newIndexes()
	var err error
	if s.lock, err = openLock(filepath.Join(o.Root, lockName)); err != nil {
		return nil, fmt.Errorf("record root: %w", err)
	}
	return s, nil
}

// Close writes the indexes that are out of date and lets go of the root. Live
// attempts stay as they are.
func (s *Store) Close() error {
	if s.updater {
		return s.lock.Close()
	}
	return errors.Join(s.Flush(), s.lock.Close())
}

// mutate runs a change alone among all goroutines and processes.
func (s *Store) mutate(change func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed, err := s.lock.acquire()
	if err != nil {
		return err
	}
	defer s.lock.release()
	if changed && !s.updater {
		s.reread()
	}
	return change()
}

func (s *Store) path(below string) string { return filepath.Join(s.Root, below) }

// limits are the settings in bytes.
type limits struct {
	record, head int64
	seriesEnd    time.Duration
}

func limitsOf(r config.Retention) limits {
	return limits{record: r.MaxBytesPerRecord.Bytes(), head: r.Head.Bytes(), seriesEnd: r.SeriesEnd.Duration}
}

func liveDir(containerID string) string { return record.LivePath(containerID) }
