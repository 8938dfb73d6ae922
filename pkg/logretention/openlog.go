package logretention

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/podlogs"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/safelink"
)

// piece is a file of a log, held open.
type piece struct {
	podlogs.File
	src *safelink.Source
}

// openTries bounds how often a log is opened again because it was rotated,
// compressed or removed at the same moment.
const openTries = 5

// openLog opens all files of an attempt's log that are files. Only of the first
// sure of them it is known that nothing is missing before them; what comes after
// these is left to the next time, since a file that is kept late would come
// after what was written later. The caller closes all of them, also with an
// error, which is of those that could not be opened.
func (k *Keeper) openLog(a *attempt) (pieces []piece, sure int, err error) {
	return openFiles(a.dir(), func() ([]podlogs.File, error) { return k.logFiles(a) })
}

// openFiles is openLog of what list finds in dir.
func openFiles(dir string, list func() ([]podlogs.File, error)) (pieces []piece, sure int, err error) {
	before, err := list()
	for try := 1; ; try++ {
		var errs []error
		gone := len(before)
		for i, f := range before {
			src, openErr := safelink.Open(filepath.Join(dir, f.Name))
			switch {
			case openErr == nil:
				pieces = append(pieces, piece{f, src})
			case errors.Is(openErr, fs.ErrNotExist):
				gone = min(gone, i)
			default:
				errs = append(errs, openErr)
			}
		}
		err = errors.Join(append(errs, err)...)
		after, listErr := list()
		same := min(gone, common(before, after))
		switch {
		case listErr != nil, same == len(before) && same == len(after):
			return pieces, len(pieces), err
		case try == openTries:
			sure = slices.IndexFunc(pieces, func(p piece) bool { return !slices.Contains(before[:same], p.File) })
			if sure < 0 {
				sure = len(pieces)
			}
			return pieces, sure, err
		}
		for _, p := range pieces {
			_ = p.src.Close()
		}
		before, pieces, err = after, nil, nil
	}
}

// common is how many files two lists have in common from their start.
func common(a, b []podlogs.File) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// mostFiles of one log are looked at; a kubelet keeps 5, if it is not told
// otherwise. A pod that may write to the pod logs must not occupy the keeper of
// all others.
const mostFiles = 256

func (k *Keeper) logFiles(a *attempt) ([]podlogs.File, error) {
	files, err := podlogs.Files(a.dir())
	files = slices.DeleteFunc(files, func(f podlogs.File) bool { return f.Attempt != a.birth.Attempt.Attempt })
	if older := len(files) - mostFiles; older > 0 {
		files = files[older:]
		if !a.swamped {
			a.swamped = true
			err = errors.Join(err, a.live.AddGap(record.Gap{Before: len(a.live.Segments()), Bytes: -1,
				Reason: "more files than a kubelet keeps: only the newest were looked at"}))
		}
	}
	return files, err
}
