package logretention

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/podlogs"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/safelink"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

const (
	// A log has to be missing for this long, and in so many looks, before it is
	// put back: the kubelet removes a container's log a moment before its
	// record.
	missingFor   = 15 * time.Second
	missingLooks = 3
)

// repairs remembers what is missing, and what has been seen to: once for each
// container.
type repairs struct {
	missing map[string]missing
	done    map[string]struct{}
}

type missing struct {
	since time.Duration
	looks int
}

func newRepairs() *repairs {
	return &repairs{missing: map[string]missing{}, done: map[string]struct{}{}}
}

// repair gives a log its name back where the runtime still has the record of a
// dead container of a pod that is there, and somebody removed the log: without
// it `kubectl logs --previous` fails with "failed to try resolving symlinks".
func (k *Keeper) repair(s *node.Snapshot, here map[string]listed) {
	r := k.repairs
	for id, l := range here {
		if _, done := r.done[id]; done || l.container.State != node.ContainerExited || l.container.LogPath == "" {
			continue
		}
		entry, ok := k.store.Find(id)
		if !ok || !isMissing(l.container.LogPath) || !wanted(s, l.sandbox) {
			delete(r.missing, id)
			continue
		}
		m, seen := r.missing[id]
		if !seen {
			m.since = s.Taken.Boot
		}
		m.looks++
		r.missing[id] = m
		if m.looks < missingLooks || s.Taken.Boot-m.since < missingFor {
			continue
		}
		r.done[id] = struct{}{}
		delete(r.missing, id)
		k.putBack(entry, l.container.LogPath)
	}
	for id := range r.missing {
		if _, ok := here[id]; !ok {
			delete(r.missing, id)
		}
	}
	for id := range r.done {
		if _, ok := here[id]; !ok {
			delete(r.done, id)
		}
	}
}

// wanted tells whether a pod's UID is one that the kubelet keeps: it removes
// the log directory of any other within a minute.
func wanted(s *node.Snapshot, of node.Sandbox) bool {
	if v, ok := s.Kubelet.View.Find(of.Pod); ok && s.Kubelet.View.Known() {
		return v.UID == of.UID
	}
	for _, sb := range s.Runtime.Of(of.Pod) {
		if sb.UID == of.UID && sb.Ready {
			return true
		}
	}
	return false
}

func isMissing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// putBack links the newest piece of a record to where the kubelet looks for it.
func (k *Keeper) putBack(e record.Entry, logPath string) {
	attributes := []any{"namespace", e.Namespace, "pod", e.Pod, "container", e.Container,
		"attempt", e.Attempt.Attempt, "containerID", e.ContainerID, "record", e.Path, "path", logPath}
	if err := k.relink(e, logPath); err != nil {
		k.Log.Warn("missing log not put back", append(attributes, "error", err)...)
		return
	}
	k.Log.Info("missing log put back", attributes...)
}

func (k *Keeper) relink(e record.Entry, logPath string) error {
	if len(e.Segments) == 0 {
		return errors.New("its record has no log")
	}
	newest := e.Segments[len(e.Segments)-1]
	if newest.Compressed() || newest.Rotated != "" {
		return fmt.Errorf("its newest piece (%s) is not what lay there", newest.Name)
	}
	dir, name, err := k.containerDir(logPath)
	if err != nil {
		return err
	}
	defer dir.Close()
	src, err := safelink.Open(filepath.Join(k.Root, e.Path, newest.Name))
	if err != nil {
		return err
	}
	defer src.Close()
	err = src.LinkAt(dir, name)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case safelink.CannotLink(err):
		return copyBack(src, dir, name)
	}
	return err
}

// containerDir opens the directory of a log, below the pod's, which has to be
// there. No link on the way is followed: a pod may have planted it.
func (k *Keeper) containerDir(logPath string) (dir *os.File, name string, err error) {
	container := filepath.Dir(logPath)
	pod := filepath.Dir(container)
	name = filepath.Base(logPath)
	if f, ok := podlogs.ParseFile(name); !ok || f.Rotated != "" || filepath.Dir(pod) != k.Config.PodLogs {
		return nil, "", fmt.Errorf("%s is not a log below %s", logPath, k.Config.PodLogs)
	}
	dir, err = openBelow(pod, filepath.Base(container))
	return dir, name, err
}
