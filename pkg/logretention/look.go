package logretention

import (
	"path/filepath"
	"slices"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/podlogs"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

const (
	// staleAfter is how long a container may be called running without a
	// process before that is no passing state: conmon drains the pipes and
	// syncs the log before it tells of the exit.
	staleAfter = 20 * time.Second
	// unbornAfter is how long after its birth an attempt that the runtime has
	// never listed counts as never created: CRI-O allows 4 minutes for one
	// creation and lists a container only after it.
	unbornAfter = 5 * time.Minute
)

// listed is a container of a static pod's sandbox.
type listed struct {
	sandbox   node.Sandbox
	container node.Container
}

// look compares the attempts with what a look saw.
func (k *Keeper) look(s *node.Snapshot) {
	k.rescan()
	k.watch()
	k.snapshot = s
	// The agent may start before the kubelet, whose name the node's is.
	if name := s.Settings.NodeName; name != "" && name != k.Node {
		k.Node = name
		k.store.Rename(name)
		k.herald.node.Store(name)
	}
	for _, a := range k.attempts {
		if a.over && s.Taken.Boot >= a.ended {
			k.end(a, a.final)
		}
	}
	if s.Runtime.Err != nil {
		// Absence means nothing, and links are made all the same.
		k.followAll()
		k.measure()
		return
	}
	here := k.list(s)
	for _, l := range here {
		k.bear(l)
	}
	k.followAll()
	for id, a := range k.attempts {
		if l, ok := here[id]; ok {
			k.present(s, a, l)
		} else {
			k.absent(s, a, here)
		}
	}
	k.adoptOrphans(s, here)
	k.repair(s, here)
	k.forget(s, here)
	k.measure()
}

// list finds the containers that are ours, and the pods that are not.
func (k *Keeper) list(s *node.Snapshot) map[string]listed {
	here := map[string]listed{}
	clear(k.foreign)
	for _, sb := range s.Runtime.Sandboxes {
		if !sb.Static() {
			k.foreign[sb.UID] = struct{}{}
			continue
		}
		for _, c := range sb.Containers {
			here[c.ID] = listed{sb, c}
		}
	}
	return here
}

// bear begins to follow a container that nobody told of.
func (k *Keeper) bear(l listed) {
	if a := k.attempts[l.container.ID]; a != nil {
		a.known = true
		return
	}
	if l.container.LogPath == "" || k.recorded(l.container.ID) {
		return
	}
	if a := k.begin(k.ofContainer(l.sandbox, l.container)); a != nil {
		a.known = true
	}
}

// followAll is what makes up for lost events.
func (k *Keeper) followAll() {
	if k.scan || k.watcher == nil || k.trouble[troubleWatch] != "" {
		k.scanAll()
	}
	for _, a := range k.attempts {
		k.follow(a)
	}
}

// present takes what the runtime says about an attempt that it lists.
func (k *Keeper) present(s *node.Snapshot, a *attempt, l listed) {
	c := l.container
	a.seen = c
	a.byURL = l.sandbox.Source == "http"
	if a.birth.Revision == "" {
		// CRI-O does not tell a hook of labels.
		a.birth.Revision = revisionOf(l.sandbox)
	}
	if a.digest == "" && s.Intent.Err == nil && !newerGeneration(s, a) {
		if m, ok := s.Intent.Find(a.podName()); ok {
			a.digest = m.Digest
		}
	}
	if c.State == node.ContainerExited && a.ended == 0 {
		a.ended = s.Taken.Boot
	}
	switch {
	case c.State == node.ContainerExited && !c.StatusUnknown:
		k.ask(a, &c)
	case c.State == node.ContainerExited:
		k.ask(a, nil)
	case c.State == node.ContainerRunning && c.Process.Dead():
		if !a.dead {
			a.dead, a.deadSince = true, s.Taken.Boot
		}
		a.lost = a.lost || s.Taken.Boot-a.deadSince >= staleAfter
		k.ask(a, nil)
	default:
		a.dead = false
	}
}

// absent takes that the runtime does not list an attempt. One of another boot
// is not coming back; of any other the runtime is asked once more.
func (k *Keeper) absent(s *node.Snapshot, a *attempt, here map[string]listed) {
	if s.Taken.Boot <= a.began {
		return // the look is older than what is known
	}
	switch {
	case a.otherBoot:
		a.merge(readExitFiles(k.Storage, a.birth.Bundle, a.birth.ContainerID))
		k.end(a, nil)
		return
	case a.known, k.followed(a, here):
		a.known = true
		if a.ended == 0 {
			a.ended = s.Taken.Boot
		}
	case creating(s, a):
		return
	}
	k.ask(a, nil)
}

// followed tells whether the kubelet has gone on to another attempt, which it
// does only when this one has ended, or could not be created.
func (k *Keeper) followed(a *attempt, here map[string]listed) bool {
	for id, l := range here {
		if id != a.birth.ContainerID && l.sandbox.UID == a.birth.PodUID &&
			l.container.Name == a.birth.Container && l.container.Attempt >= a.birth.Attempt.Attempt {
			return true
		}
	}
	return false
}

// creating tells whether the runtime may still be making a container.
func creating(s *node.Snapshot, a *attempt) bool {
	return slices.ContainsFunc(s.Runtime.Calls, func(call node.RuntimeCall) bool { return call.ContainerID == a.birth.ContainerID })
}

// forget lets go of what the runtime does not list any more.
func (k *Keeper) forget(s *node.Snapshot, here map[string]listed) {
	for id := range k.done {
		if _, ok := here[id]; !ok {
			delete(k.done, id)
		}
	}
	claimed := map[string]bool{}
	for id, l := range here {
		if _, ok := k.attempts[id]; !ok {
			claimed[l.container.LogPath] = true // it has its record
		}
	}
	k.pending.expire(func(path string) bool {
		return claimed[path] || k.isForeign(path)
	})
	if k.watcher == nil {
		return
	}
	for _, sb := range s.Runtime.Sandboxes {
		if sb.Static() {
			continue
		}
		dir := filepath.Join(k.Config.PodLogs, podlogs.Pod{Namespace: sb.Pod.Namespace, Name: sb.Pod.Name, UID: sb.UID}.String())
		if !k.watcher.Has(dir) {
			continue
		}
		k.watcher.RemoveTree(dir)
	}
}

// isForeign tells whether a log belongs to a pod that is none of ours.
func (k *Keeper) isForeign(path string) bool {
	pod, ok := podlogs.ParsePod(filepath.Base(filepath.Dir(filepath.Dir(path))))
	_, foreign := k.foreign[pod.UID]
	return !ok || foreign
}
