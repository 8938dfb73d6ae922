package logretention

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/dirwatch"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/podlogs"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/safelink"
)

// watch begins to watch the pod log root, and the directory in which conmon
// tells of exits. Either may not be there yet: each look tries again.
func (k *Keeper) watch() {
	if k.watcher == nil {
		return
	}
	if !k.watcher.Has(k.Config.PodLogs) {
		k.unwatched = k.watcher.AddRoot(k.Config.PodLogs)
		k.scan = k.scan || k.unwatched == nil
		k.say(troubleWatch, k.unwatched)
	}
	if k.Config.Exits != "" && !k.watcher.Has(k.Config.Exits) {
		k.say(troubleExits, k.watcher.AddRoot(k.Config.Exits))
	}
}

// What there can be trouble with, as the log and the status call it.
const (
	troubleWatch = "watch pod logs"
	troubleExits = "watch exits"
)

// notice takes one event of inotify.
func (k *Keeper) notice(e dirwatch.Event) {
	switch {
	case e.Overflow:
		k.Log.Warn("inotify events were lost: all pod logs are looked at again")
		k.scanAll()
		for _, a := range k.attempts {
			k.follow(a)
		}
		k.Poke()
	case e.Gone:
		// The next look tries to watch again what has to be.
	case e.Dir == k.Config.Exits:
		k.exited(e.Name)
	case e.Dir == k.Config.PodLogs:
		if e.IsDir {
			k.scanPod(e.Name)
		}
	case filepath.Dir(e.Dir) == k.Config.PodLogs:
		if e.IsDir {
			k.scanContainer(filepath.Join(e.Dir, e.Name))
		}
	default:
		k.appeared(e.Dir, e.Name)
	}
}

// exited takes the name of a file in the directory of exits: a container's ID.
// CRI-O removes the file at once, so that only its name is of use.
func (k *Keeper) exited(id string) {
	if !record.IsContainerID(id) {
		return
	}
	k.Poke()
	if k.attempts[id] == nil && !isMissing(filepath.Join(k.Root, record.LivePath(id))) {
		k.rescan() // the hook's word of it is still on its way
	}
	if a := k.attempts[id]; a != nil {
		a.known = true
		k.ask(a, nil)
	}
}

// scanAll looks at everything below the pod log root.
func (k *Keeper) scanAll() {
	k.scan, k.crowded = false, false
	pods, err := podlogs.Names(k.Config.PodLogs)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		k.say("read the pod log root", err)
		return
	}
	for _, pod := range pods {
		k.scanPod(pod)
	}
	if k.unwatched == nil && !k.crowded {
		k.say(troubleWatch, nil)
	}
}

// scanPod watches a pod's directory, and looks at what is in it already.
func (k *Keeper) scanPod(name string) {
	pod, ok := podlogs.ParsePod(name)
	if _, foreign := k.foreign[pod.UID]; !ok || foreign || excluded(k.Config.Exclude, pod.Namespace, pod.Name) {
		return
	}
	dir := filepath.Join(k.Config.PodLogs, name)
	k.watchDir(dir)
	containers, _ := podlogs.Names(dir) // gone, or no directory: there is nothing
	for _, c := range containers {
		k.scanContainer(filepath.Join(dir, c))
	}
}

func (k *Keeper) scanContainer(dir string) {
	k.watchDir(dir)
	files, _ := podlogs.Files(dir)
	for _, f := range files {
		if f.Rotated == "" {
			k.appeared(dir, f.Name)
		}
	}
}

// watchContainer makes sure that the directory of an attempt's log is watched,
// and the pod's above it.
func (k *Keeper) watchContainer(dir string) {
	if pod := filepath.Dir(dir); filepath.Dir(pod) == k.Config.PodLogs {
		k.watchDir(pod)
		k.watchDir(dir)
	}
}

func (k *Keeper) watchDir(dir string) {
	if k.watcher == nil || k.watcher.Has(dir) {
		return
	}
	switch err := k.watcher.Add(dir); {
	case errors.Is(err, dirwatch.ErrTooMany):
		k.crowded = true
		k.say(troubleWatch, errors.New("too many directories: those left over are scanned by each look"))
	case err != nil:
		k.Log.Debug("directory not watched", "path", dir, "error", err)
	}
}

// appeared takes the name of a file in a container's directory. One that nobody
// has named yet is held open until the next look says whose it is.
func (k *Keeper) appeared(dir, name string) {
	f, ok := podlogs.ParseFile(name)
	if !ok {
		return
	}
	path := filepath.Join(dir, podlogs.LiveName(f.Attempt))
	if a := k.byPath[path]; a != nil && !a.superseded {
		if !a.swamped { // else each of thousands of names would have all of them looked at
			k.follow(a)
		}
		return
	}
	if f.Rotated != "" {
		return
	}
	src, err := safelink.Open(path)
	if err != nil {
		k.Log.Debug("log not held", "path", path, "error", err)
		return
	}
	if k.pending.hold(path, src) {
		k.Poke()
	}
}
