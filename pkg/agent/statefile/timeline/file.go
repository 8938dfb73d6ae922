package timeline

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Name is the file in the log directory, Rotated the one before it.
const (
	Name    = "timeline.jsonl"
	Rotated = Name + ".1"
)

// MaxBytes is where a file is full.
const MaxBytes = 4 << 20

// maxHeld bounds what a new file begins with.
const maxHeld = 2000

// File appends lines. One goroutine at a time may use it. It is opened anew for
// each Append: an admin may have removed it, or its disk may have come back.
type File struct {
	dir   string
	limit int64
	// began is the line of this agent's start, held what was said last of each.
	began *Line
	held  map[who]Line
	// owing is set when lines were lost: what holds is then written again, so
	// that a reader misses changes, but never takes an old verdict for the
	// present one.
	owing bool
}

// New returns the file in dir.
func New(dir string) *File { return &File{dir: dir, limit: MaxBytes, held: map[who]Line{}} }

// Append writes lines in one piece. After an error they are lost.
func (f *File) Append(lines ...Line) error {
	text, err := f.text(lines)
	if err == nil {
		err = f.write(text)
	}
	f.owing = err != nil
	f.remember(lines)
	if err != nil {
		return fmt.Errorf("append to %s: %w", filepath.Join(f.dir, Name), err)
	}
	return nil
}

func (f *File) text(lines []Line) ([]byte, error) {
	if f.owing {
		lines = append(f.holding(), lines...)
	}
	var text []byte
	for _, l := range lines {
		line, err := encode(l)
		if err != nil {
			return nil, err
		}
		text = append(text, line...)
	}
	return text, nil
}

func (f *File) remember(lines []Line) {
	for _, l := range lines {
		switch {
		case l.Kind == Started:
			f.began = &l
		case l.Kind != Verdict:
		case l.State == Gone:
			delete(f.held, l.who())
		default:
			if _, known := f.held[l.who()]; known || len(f.held) < maxHeld {
				f.held[l.who()] = l
			}
		}
	}
}

// holding are the lines that a new file begins with, oldest first.
func (f *File) holding() []Line {
	lines := slices.SortedFunc(maps.Values(f.held), compare)
	if f.began != nil {
		lines = append([]Line{*f.began}, lines...)
	}
	return lines
}

// compare orders lines by time, and those of one moment by what they are about,
// the agent first.
func compare(a, b Line) int {
	about := func(l Line) string { return l.Namespace + "/" + l.Pod + "/" + l.Container }
	return cmp.Or(a.Time.Compare(b.Time), strings.Compare(about(a), about(b)), strings.Compare(string(a.Kind), string(b.Kind)))
}

func (f *File) write(text []byte) error {
	file, size, err := f.open()
	if err != nil {
		return err
	}
	if size > 0 && size+int64(len(text)) > f.limit {
		if err := errors.Join(file.Close(), os.Rename(filepath.Join(f.dir, Name), filepath.Join(f.dir, Rotated))); err != nil {
			return err
		}
		if file, size, err = f.open(); err != nil {
			return err
		}
		held, err := (&File{held: f.held, began: f.began, owing: true}).text(nil)
		if err != nil {
			return errors.Join(err, file.Close())
		}
		text = append(held, text...)
	}
	if torn(file, size) {
		text = append([]byte{'\n'}, text...)
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

// open opens the file, which is made if there is none. Whatever was put in its
// place, a link, a FIFO or a device, is neither waited for nor written to.
func (f *File) open() (*os.File, int64, error) {
	path := filepath.Join(f.dir, Name)
	const flags = os.O_RDWR | os.O_APPEND | os.O_CREATE | unix.O_NOFOLLOW | unix.O_NONBLOCK
	file, err := os.OpenFile(path, flags, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(f.dir, 0o700); err != nil {
			return nil, 0, err
		}
		file, err = os.OpenFile(path, flags, 0o600)
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, info.Size(), nil
}

// torn tells whether a write was cut off, by a full disk or the end of a boot.
func torn(file *os.File, size int64) bool {
	var last [1]byte
	if size == 0 {
		return false
	}
	_, err := file.ReadAt(last[:], size-1)
	return err != nil || last[0] != '\n'
}
