package reader

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// Attempt is one attempt of one container whose log can be read.
type Attempt struct {
	record.Attempt
	// Path is the directory of the segments, below the root of the Files that
	// it came from.
	Path string
	// Meta are the facts of an ended attempt, Birth those of one that has not
	// been recorded yet. Both are nil for an attempt that is known from the
	// kubelet's files alone.
	Meta  *record.Meta
	Birth *record.Birth
	// Segments are in the order of writing. Those of the kubelet's own files
	// have its names.
	Segments []record.Segment
	Gaps     []record.Gap
	// Live is set when more may be written.
	Live bool
}

// Identity is the namespace, pod, container and attempt in one word.
func (a Attempt) Identity() string {
	return fmt.Sprintf("%s/%s/%s#%d", a.Namespace, a.Pod, a.Container, a.Attempt.Attempt)
}

// Title says in one line which attempt this is and what became of it.
func (a Attempt) Title() string {
	name := fmt.Sprintf("%s/%s/%s attempt %d", a.Namespace, a.Pod, a.Container, a.Attempt.Attempt)
	switch {
	case a.Meta != nil:
		return name + ", record " + a.Meta.ID + ": " + Ending(a.Meta)
	case a.Birth != nil:
		return name + ", not ended, first seen " + at(&a.Birth.Seen)
	case a.Live:
		return name + ", from the kubelet's files (newest, may be running)"
	}
	return name + ", from the kubelet's files"
}

// Ending says in one line how an attempt ended.
func Ending(m *record.Meta) string {
	parts := []string{string(m.Class)}
	switch {
	case m.Signal != 0:
		parts = append(parts, fmt.Sprintf("signal %d", m.Signal))
	case m.ExitCode != nil:
		parts = append(parts, fmt.Sprintf("exit code %d", *m.ExitCode))
	default:
		parts = append(parts, "exit code unknown")
	}
	if m.Started != nil {
		parts = append(parts, "started "+at(m.Started))
	}
	if m.Finished != nil {
		parts = append(parts, "finished "+at(m.Finished))
	}
	return strings.Join(parts, ", ")
}

func at(t *time.Time) string { return t.UTC().Format(time.RFC3339) }

func ended(e *record.Entry) Attempt {
	return Attempt{Attempt: e.Attempt, Path: e.Path, Meta: &e.Meta, Segments: e.Segments, Gaps: e.Gaps}
}

func live(l *record.Live) Attempt {
	return Attempt{Attempt: l.Attempt, Path: l.Path, Birth: &l.Birth, Segments: l.Segments, Gaps: l.Gaps, Live: true}
}

// refresh looks again at an attempt that an index called live: segments may
// have been added, and it may have become a record in the meantime.
func refresh(ctx context.Context, files Files, a Attempt) Attempt {
	if !a.Live || a.Birth == nil {
		return a
	}
	if now, err := readLive(ctx, files, a.ContainerID); err == nil {
		// Without a list of the directory, the index may know of more.
		if _, ok := files.(Directory); !ok && len(now.Gaps) == 0 && len(now.Segments) < len(a.Segments) {
			now.Segments, now.Gaps = a.Segments, a.Gaps
		}
		return live(now)
	}
	if found, ok := recorded(ctx, files, a); ok {
		return found
	}
	return a
}

// recorded finds the record that an attempt has become.
func recorded(ctx context.Context, files Files, a Attempt) (Attempt, bool) {
	is := func(e record.Entry) bool { return e.ContainerID == a.ContainerID }
	index, err := readIndex(ctx, files)
	if err == nil {
		if i := slices.IndexFunc(index.Records, is); i >= 0 {
			return ended(&index.Records[i]), true
		}
	}
	// The record appears before the index names it.
	if dir, ok := files.(Directory); ok {
		records := recordsOf(ctx, files, dir, record.ContainerDir(a.Namespace, a.Pod, a.Container))
		if i := slices.IndexFunc(records, is); i >= 0 {
			return ended(&records[i]), true
		}
	}
	return a, false
}
