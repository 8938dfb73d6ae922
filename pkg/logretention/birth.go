package logretention

import (
	"cmp"
	"errors"
	"slices"

	"github.com/nodekeeper/nodekeeper/pkg/lifecycle"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/store"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// rescan takes up live attempts that are in the store and not followed yet: an
// earlier process left them, or the hook has just made them.
func (k *Keeper) rescan() {
	err := dropExcluded(k.Root, k.Config.Exclude, func(id string) bool { return k.attempts[id] != nil }, k.Log)
	k.say("let go of the logs of excluded pods", err)
	_, err = k.store.Rescan()
	k.say("look for new attempts below the record root", err)
	lives := k.store.Lives()
	k.lose(lives)
	// In the order of their births, so that of two with one log path the
	// younger has it.
	slices.SortStableFunc(lives, func(a, b *store.Live) int {
		x, y := a.Birth(), b.Birth()
		return cmp.Or(x.Seen.Compare(y.Seen), cmp.Compare(x.Attempt.Attempt, y.Attempt.Attempt))
	})
	for _, live := range lives {
		b := live.Birth()
		if _, ok := k.attempts[b.ContainerID]; ok {
			continue
		}
		k.follow(k.adopt(live))
	}
}

// lose lets go of attempts that are not in the store any more, because somebody
// removed their directories: what the runtime has begins again with the next
// look.
func (k *Keeper) lose(lives []*store.Live) {
	here := make(map[*store.Live]bool, len(lives))
	for _, l := range lives {
		here[l] = true
	}
	for id, a := range k.attempts {
		if here[a.live] {
			continue
		}
		delete(k.attempts, id)
		if k.byPath[a.birth.LogPath] == a {
			delete(k.byPath, a.birth.LogPath)
		}
		for _, w := range a.waiters {
			w <- ""
		}
	}
}

// adopt begins to follow a live attempt.
func (k *Keeper) adopt(live *store.Live) *attempt {
	b := live.Birth()
	boot, now := k.Clock.BootID(), k.Clock.Now()
	a := &attempt{
		live: live, birth: b, began: now.Boot, late: now.Wall.Sub(b.Seen) > unbornAfter,
		otherBoot: b.BootID != boot && b.BootID != "" && boot != "",
	}
	k.attempts[b.ContainerID] = a
	if b.LogPath != "" {
		if old := k.byPath[b.LogPath]; old != nil {
			// The runtime unlinks the log of a container that it failed to
			// create, and the kubelet then gives the number again.
			old.superseded = true
		}
		k.byPath[b.LogPath] = a
		k.watchContainer(a.dir())
	}
	k.Log.Info("attempt followed", a.attributes("by", string(b.By))...)
	return a
}

// begin makes a live attempt of what somebody told, unless there is one, or a
// record. It is nil then, and where the attempt is none of ours.
func (k *Keeper) begin(b record.Birth) *attempt {
	if _, ok := k.attempts[b.ContainerID]; ok || !record.IsContainerID(b.ContainerID) || k.recorded(b.ContainerID) {
		return nil
	}
	if excluded(k.Config.Exclude, b.Namespace, b.Pod) {
		return nil
	}
	b.APIVersion, b.Kind = record.APIVersion, record.KindBirth
	live, err := k.store.Begin(b)
	if errors.Is(err, store.ErrRecorded) {
		k.done[b.ContainerID] = struct{}{}
		return nil
	}
	k.say("begin to follow an attempt", err)
	if err != nil {
		return nil
	}
	a := k.adopt(live)
	if held := k.pending.take(b.LogPath); len(held) > 0 {
		k.claim(a, held)
	}
	k.follow(a)
	return a
}

// recorded tells whether there is, or was, a record of a container.
func (k *Keeper) recorded(id string) bool {
	if _, ok := k.done[id]; ok {
		return true
	}
	_, ok := k.store.Find(id)
	return ok
}

// ofContainer is the birth of an attempt as a look shows it. The keeper was late
// unless it had the log open already.
func (k *Keeper) ofContainer(sb node.Sandbox, c node.Container) record.Birth {
	by := record.SourceScan
	if k.pending.byPath[c.LogPath] != nil {
		by = record.SourceWatch
	}
	return record.Birth{
		Attempt: record.Attempt{
			Namespace: sb.Pod.Namespace, Pod: sb.Pod.Name, PodUID: sb.UID,
			Container: c.Name, Attempt: c.Attempt, ContainerID: c.ID, SandboxID: sb.ID,
			Revision: revisionOf(sb),
		},
		BootID: k.Clock.BootID(), Seen: k.Clock.Now().Wall, By: by, LogPath: c.LogPath,
	}
}

// revision is the label, or annotation, of OpenShift's static pods (library-go
// pkg/operator/staticpod/controller/installer).
const revision = "revision"

func revisionOf(sb node.Sandbox) string { return cmp.Or(sb.Labels[revision], sb.Annotations[revision]) }

// ofEvent is the birth of an attempt as the hook or NRI told it.
func (k *Keeper) ofEvent(e lifecycle.Event) record.Birth {
	seen := e.Time
	if seen.IsZero() {
		seen = k.Clock.Now().Wall
	}
	return record.Birth{
		Attempt: record.Attempt{
			Namespace: e.Namespace, Pod: e.Pod, PodUID: e.PodUID, Container: e.Container,
			Attempt: e.Attempt, ContainerID: e.ContainerID, SandboxID: e.SandboxID,
		},
		BootID: cmp.Or(e.BootID, k.Clock.BootID()), Seen: seen, By: record.Source(e.Source),
		LogPath: e.LogPath, Bundle: e.Bundle, Pid: e.Pid,
	}
}

// hear takes a hint of the hook or of NRI. Both tell of static pods only.
func (k *Keeper) hear(e lifecycle.Event) {
	switch e.Kind {
	case lifecycle.Created, lifecycle.Started:
		if e.Source == lifecycle.Hook {
			k.rescan()
		}
		if a := k.attempts[e.ContainerID]; a != nil {
			a.known = a.known || e.Kind == lifecycle.Started
			k.follow(a)
			return
		}
		// An event that waited in the spool may be of a container whose log has
		// gone, or is another's by now.
		if ours := e.BootID == "" || e.BootID == k.Clock.BootID(); ours && !isMissing(e.LogPath) {
			k.begin(k.ofEvent(e))
		}
	case lifecycle.Stopped, lifecycle.Removed:
		if e.Source == lifecycle.Hook {
			k.rescan()
		}
		if a := k.attempts[e.ContainerID]; a != nil {
			a.known = true
			k.ask(a, nil)
		}
	}
}
