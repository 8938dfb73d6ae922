package reader

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// ErrNoRecords is returned when there is neither an index nor a record nor a
// live attempt.
var ErrNoRecords = errors.New("no crash records: is nodekeeper running on the node, and logs.enabled true?")

// Load reads the index. Where the files can be listed, an index that is missing,
// does not parse or is behind the directories is made up from them: the hook
// adds attempts while the agent is down.
func Load(ctx context.Context, files Files) (*record.Index, error) {
	index, err := readIndex(ctx, files)
	dir, ok := files.(Directory)
	if !ok {
		if errors.Is(err, fs.ErrNotExist) {
			err = ErrNoRecords
		}
		return index, err
	}
	now := liveAttempts(ctx, files, dir)
	if err != nil || behind(index, now) {
		index = rebuild(ctx, files, dir, index)
	}
	index.Live = withoutRecord(now, index.Records)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err == nil || len(index.Records) > 0 || len(index.Live) > 0:
		return index, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrNoRecords
	}
	return nil, err
}

// rebuild makes up an index from what the directories say; old may be nil.
func rebuild(ctx context.Context, files Files, dir Directory, old *record.Index) *record.Index {
	index := &record.Index{APIVersion: record.APIVersion, Kind: record.KindIndex, Records: allRecords(ctx, files, dir)}
	if old != nil {
		index.Node, index.BootID, index.Updated, index.Dropped = old.Node, old.BootID, old.Updated, old.Dropped
	} else if n := len(index.Records); n > 0 {
		newest := &index.Records[n-1]
		index.Node, index.BootID, index.Updated = newest.Node, newest.BootID, newest.Recorded
	}
	return index
}

// withoutRecord leaves out attempts whose record has appeared, but whose capture
// has not been removed yet.
func withoutRecord(all []record.Live, records []record.Entry) []record.Live {
	return slices.DeleteFunc(all, func(l record.Live) bool {
		return slices.ContainsFunc(records, func(e record.Entry) bool { return e.ContainerID == l.ContainerID })
	})
}

func readIndex(ctx context.Context, files Files) (*record.Index, error) {
	data, err := readSmall(ctx, files, record.IndexFile, record.MaxIndexBytes)
	if err != nil {
		return nil, err
	}
	index := new(record.Index)
	if err := record.Decode(data, index); err != nil {
		return nil, fmt.Errorf("%s: %w", record.IndexFile, err)
	}
	return index, nil
}

// behind tells whether an attempt that the index calls live has ended since.
func behind(index *record.Index, now []record.Live) bool {
	return slices.ContainsFunc(index.Live, func(l record.Live) bool {
		return !slices.ContainsFunc(now, func(n record.Live) bool { return n.ContainerID == l.ContainerID })
	})
}

// liveAttempts reads what lies in .live, oldest first. What does not parse is
// left out: the agent sets it aside.
func liveAttempts(ctx context.Context, files Files, dir Directory) []record.Live {
	names, err := dir.List(ctx, record.LiveDir)
	if err != nil {
		return nil
	}
	var all []record.Live
	for _, name := range names {
		if l, err := readLive(ctx, files, name); err == nil {
			all = append(all, *l)
		}
	}
	slices.SortFunc(all, func(a, b record.Live) int {
		if c := a.Seen.Compare(b.Seen); c != 0 {
			return c
		}
		return strings.Compare(a.ContainerID, b.ContainerID)
	})
	return all
}

func readLive(ctx context.Context, files Files, containerID string) (*record.Live, error) {
	if !record.IsContainerID(containerID) {
		return nil, fmt.Errorf("container ID %q", containerID)
	}
	l := &record.Live{Path: record.LivePath(containerID)}
	data, err := readSmall(ctx, files, path.Join(l.Path, record.BirthFile), record.MaxMetaBytes)
	if err != nil {
		return nil, err
	}
	if err := record.Decode(data, &l.Birth); err != nil {
		return nil, err
	}
	if l.ContainerID != containerID {
		return nil, fmt.Errorf("birth of container %s in the directory of %s", l.ContainerID, containerID)
	}
	var capture record.Capture
	if data, err = readSmall(ctx, files, path.Join(l.Path, record.CaptureFile), record.MaxMetaBytes); err == nil {
		if record.Decode(data, &capture) == nil {
			l.Segments, l.Gaps = capture.Segments, capture.Gaps
		}
	}
	if dir, ok := files.(Directory); ok {
		l.Segments = append(l.Segments, newSegments(ctx, dir, l)...)
	} else if len(l.Segments) == 0 {
		// The hook made it, and nothing else has been written yet.
		l.Segments = []record.Segment{{Name: record.SegmentName(0, false)}}
	}
	return l, nil
}

// newSegments are the segments behind those that capture.json tells of: it is
// written after the link.
func newSegments(ctx context.Context, dir Directory, l *record.Live) []record.Segment {
	last := -1
	for _, s := range l.Segments {
		n, _, _ := record.ParseSegment(s.Name)
		last = max(last, n)
	}
	names, err := dir.List(ctx, l.Path)
	if err != nil {
		return nil
	}
	found := map[int]string{}
	for _, name := range names {
		n, compressed, ok := record.ParseSegment(name)
		// Of a segment that is there twice, the text needs no second look.
		if ok && n > last && (found[n] == "" || !compressed) {
			found[n] = name
		}
	}
	var segments []record.Segment
	for _, n := range sortedKeys(found) {
		segments = append(segments, record.Segment{Name: found[n]})
	}
	return segments
}

// allRecords reads every meta.json, oldest first.
func allRecords(ctx context.Context, files Files, dir Directory) []record.Entry {
	var all []record.Entry
	pods, _ := dir.List(ctx, ".")
	for _, pod := range pods {
		if !strings.Contains(pod, "_") || pod[0] == '.' {
			continue
		}
		containers, _ := dir.List(ctx, pod)
		for _, container := range containers {
			all = append(all, recordsOf(ctx, files, dir, path.Join(pod, container))...)
		}
	}
	slices.SortStableFunc(all, func(a, b record.Entry) int {
		if c := finished(&a.Meta).Compare(finished(&b.Meta)); c != 0 {
			return c
		}
		return strings.Compare(a.Path, b.Path)
	})
	return all
}

// recordsOf reads the records of one container, in no order.
func recordsOf(ctx context.Context, files Files, dir Directory, container string) []record.Entry {
	var all []record.Entry
	names, _ := dir.List(ctx, container)
	for _, name := range names {
		if !record.IsID(name) {
			continue
		}
		e := record.Entry{Path: path.Join(container, name)}
		data, err := readSmall(ctx, files, path.Join(e.Path, record.MetaFile), record.MaxMetaBytes)
		if err != nil || record.Decode(data, &e.Meta) != nil {
			continue
		}
		if e.ID == name && record.ContainerDir(e.Namespace, e.Pod, e.Container) == container {
			all = append(all, e)
		}
	}
	return all
}

func finished(m *record.Meta) time.Time {
	if m.Finished != nil {
		return *m.Finished
	}
	return m.Recorded
}
