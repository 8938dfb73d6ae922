package timeline

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/nodekeeper/nodekeeper/internal/statefile"
)

// readLimit leaves room for a piece that went beyond the bound.
const readLimit = 2 * MaxBytes

// History are lines in the order in which they were written.
type History struct {
	Lines []Line
	// Skipped counts lines that made no sense, were torn, or are of a kind that
	// only a newer version knows.
	Skipped int
}

// Read returns the lines since a time from the files in dir. Of what was before
// that time, the last line about each container, and the last of each other
// kind but Proxy, are returned too, first: they say what held when it began.
// A file that is not there is no error; what can be read of the others is
// returned beside one.
func Read(dir string, since time.Time) (History, error) {
	r := newReading(since)
	var failed []error
	for _, name := range []string{Rotated, Name} {
		data, err := statefile.Read(filepath.Join(dir, name), readLimit)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, fmt.Errorf("timeline: %w", err))
		}
		r.file(data)
	}
	return r.history(), errors.Join(failed...)
}

// Decode reads a copy of one file, wherever that comes from.
func Decode(data []byte, since time.Time) History {
	r := newReading(since)
	r.file(data)
	return r.history()
}

type reading struct {
	since   time.Time
	before  map[any]Line // by who or Kind
	lines   []Line
	skipped int
}

func newReading(since time.Time) *reading { return &reading{since: since, before: map[any]Line{}} }

func (r *reading) file(data []byte) {
	for len(data) > 0 {
		text, rest, ended := bytes.Cut(data, []byte("\n"))
		data = rest
		if len(text) == 0 {
			continue
		}
		l, err := decode(text)
		switch {
		case err != nil || !ended:
			r.skipped++
		case !l.Time.Before(r.since):
			r.lines = append(r.lines, l)
		case l.Kind == Verdict && l.State == Gone:
			delete(r.before, l.who())
		case l.Kind == Verdict:
			r.before[l.who()] = l
		case l.Kind != Proxy:
			r.before[l.Kind] = l
		}
	}
}

func (r *reading) history() History {
	old := slices.SortedFunc(maps.Values(r.before), compare)
	return History{Lines: append(old, r.lines...), Skipped: r.skipped}
}
