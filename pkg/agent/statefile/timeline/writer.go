package timeline

import (
	"context"
	"log/slog"
	"strings"
	"sync"
)

// maxPending is how many lines wait for a disk that hangs.
const maxPending = 4096

// Writer passes lines on to a file in a goroutine of its own.
type Writer struct {
	file *File
	log  *slog.Logger
	wake chan struct{}

	pendingLock sync.Mutex // guards pending
	pending     []Line

	failing bool
}

// NewWriter returns a Writer; Run has to be called for anything to be written.
func NewWriter(file *File, log *slog.Logger) *Writer {
	return &Writer{file: file, log: log, wake: make(chan struct{}, 1)}
}

// Add hands lines over. It never waits for the disk, and tells whether they
// were taken.
func (w *Writer) Add(lines ...Line) bool {
	w.pendingLock.Lock()
	defer w.pendingLock.Unlock()
	if len(w.pending)+len(lines) > maxPending {
		return false
	}
	w.pending = append(w.pending, lines...)
	select {
	case w.wake <- struct{}{}:
	default:
	}
	return true
}

// Run writes lines until ctx ends, and then those that were added before. What
// cannot be written is lost, and told once.
func (w *Writer) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			w.flush()
			return
		case <-w.wake:
			w.flush()
		}
	}
}

func (w *Writer) flush() {
	w.pendingLock.Lock()
	lines := w.pending
	w.pending = nil
	w.pendingLock.Unlock()
	if len(lines) == 0 {
		return
	}
	err := w.file.Append(lines...)
	switch {
	case err != nil && !w.failing:
		text, _, _ := strings.Cut(err.Error(), "\n")
		w.log.Warn("the timeline loses lines", "error", text)
	case err == nil && w.failing:
		w.log.Info("the timeline is written again")
	}
	w.failing = err != nil
}
