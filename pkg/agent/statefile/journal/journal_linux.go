package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodekeeper/nodekeeper/internal/statefile"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// readLimit leaves room for a journal that could not be compacted for a while
// because the disk was full.
const readLimit = 8 * maxBytes

// reserve is the room on disk that is allocated ahead of the end of the file,
// so that acts can be announced, and carried out, on a full disk.
const reserve = 64 << 10

// Journal is the open journal. One goroutine at a time may use it.
type Journal struct {
	path string
	file *os.File
	// size is the length of the file's whole lines.
	size int64
	acts []restartpolicy.Act
	last uint64
	// sync is (*os.File).Sync.
	sync func(*os.File) error
	// dirty is set when a write failed: what stands after size is not ours.
	dirty bool
}

// Open reads the journal in dir, or begins one. What cannot be read is set
// aside, and aside says so in one line; an error means that no journal can be
// written, and with that no act be taken.
func Open(dir string, bootID string, now node.Instant) (j *Journal, aside string, err error) {
	j = &Journal{path: filepath.Join(dir, Name), sync: (*os.File).Sync}
	data, err := statefile.Read(j.path, readLimit)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return j.afresh(err, bootID, now)
	}
	acts, whole, err := decode(data)
	if err != nil {
		return j.afresh(err, bootID, now)
	}
	for _, a := range acts {
		if a.BootID == bootID && a.Began.Boot > now.Boot {
			return j.afresh(fmt.Errorf("act %s is dated later than now", a.ID), bootID, now)
		}
	}
	j.acts, j.size, j.dirty = acts, int64(whole), whole < len(data)
	for _, a := range acts {
		n, _ := strconv.ParseUint(a.ID, 10, 64) // decode has seen to it
		j.last = max(j.last, n)
	}
	return j, "", j.open()
}

// afresh sets the file aside and begins a journal with a note of that.
func (j *Journal) afresh(cause error, bootID string, now node.Instant) (*Journal, string, error) {
	name, err := statefile.SetAside(j.path)
	if err != nil {
		return nil, "", fmt.Errorf("set the unreadable journal aside: %w", err)
	}
	note := restartpolicy.Act{
		BootID: bootID, Began: now, Finished: now,
		Step:   restartpolicy.Step{Kind: LostKind, Reason: cause.Error()},
		Result: restartpolicy.ResultRefused,
		Detail: "the journal could not be read and is now " + filepath.Base(name) + "; no act for a while",
	}
	if err := j.open(); err != nil {
		return nil, "", err
	}
	if _, err := j.Begin(note); err != nil {
		return nil, "", err
	}
	return j, fmt.Sprintf("journal %s could not be read (%s) and is now %s", j.path, cause, filepath.Base(name)), nil
}

func (j *Journal) open() error {
	file, err := os.OpenFile(j.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open journal: %w", err)
	}
	if j.file != nil {
		_ = j.file.Close()
	}
	j.file = file
	j.allocate()
	return statefile.SyncDir(filepath.Dir(j.path))
}

// allocate is a help on full disks and no more: not every file system can.
func (j *Journal) allocate() {
	_ = unix.Fallocate(int(j.file.Fd()), unix.FALLOC_FL_KEEP_SIZE, j.size, reserve)
}

// Begin enters an act under a new ID and returns it once it is on disk.
func (j *Journal) Begin(act restartpolicy.Act) (restartpolicy.Act, error) {
	act.ID = strconv.FormatUint(j.last+1, 10)
	if err := j.append(act); err != nil {
		return act, err
	}
	j.last++
	j.acts = append(j.acts, act)
	return act, j.compact()
}

// Update enters a new result of an act and returns once it is on disk. The
// result is kept in memory even if it cannot be written; what a later process
// then reads is what was written before.
func (j *Journal) Update(act restartpolicy.Act) error {
	for i := range j.acts {
		if j.acts[i].ID == act.ID {
			j.acts[i] = act
		}
	}
	if err := j.append(act); err != nil {
		return err
	}
	return j.compact()
}

func (j *Journal) append(act restartpolicy.Act) error {
	line, err := encode(act)
	if err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	if j.dirty {
		if err := j.file.Truncate(j.size); err != nil {
			return fmt.Errorf("write journal: %w", err)
		}
		j.allocate()
	}
	j.dirty = true
	if _, err := j.file.WriteAt(line, j.size); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	if err := j.sync(j.file); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	j.dirty = false
	before := j.size
	j.size += int64(len(line))
	if before/(reserve/4) != j.size/(reserve/4) {
		j.allocate()
	}
	return nil
}

// compact writes the journal anew when it has grown too large. When that
// fails the old file goes on: the bound is then missed, and nothing is lost.
func (j *Journal) compact() error {
	if len(j.acts) <= maxActs && j.size <= maxBytes {
		return nil
	}
	acts, text, err := newest(j.acts)
	if err != nil || statefile.Replace(j.path, text, 0o600, true) != nil {
		return nil
	}
	j.acts, j.size = acts, int64(len(text))
	return j.open()
}

// Acts returns all acts, oldest first, also those that did nothing.
func (j *Journal) Acts() []restartpolicy.Act { return slices.Clone(j.acts) }

// Ledger returns the acts that budgets are reckoned from. Acts of a dry run
// count only in a dry run: there they keep the same act from being announced
// at each look, and afterwards they must not use up the budget of real ones.
func (j *Journal) Ledger(dryRun bool) restartpolicy.Ledger {
	var l restartpolicy.Ledger
	for _, a := range j.acts {
		if a.Kind != LostKind && (dryRun || a.Result != restartpolicy.ResultDryRun) {
			l.Acts = append(l.Acts, a)
		}
	}
	return l
}

// Lost returns how long ago a journal was set aside, if one was. Nothing is
// known then of the acts before, so the caller lets the longest gap between
// two acts pass first: after that no gap and no bound for an hour could forbid
// an act, whatever the lost journal held. (Steps that had been taken in
// vain is climbed once more.)
func (j *Journal) Lost(bootID string, now node.Instant) (age time.Duration, lost bool) {
	for i := len(j.acts) - 1; i >= 0; i-- {
		a := j.acts[i]
		switch {
		case a.Kind != LostKind:
		case a.BootID == bootID:
			return now.Boot - a.Began.Boot, true
		default:
			return max(now.Wall.Sub(a.Began.Wall), now.Boot), true
		}
	}
	return 0, false
}

// Close closes the file.
func (j *Journal) Close() error { return j.file.Close() }

// Read returns the acts of the journal in dir without changing it, for the
// command line. What cannot be read is left out and told in the error.
func Read(dir string) ([]restartpolicy.Act, error) {
	path := filepath.Join(dir, Name)
	data, err := statefile.Read(path, readLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	acts, err := Decode(data)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return acts, err
}
