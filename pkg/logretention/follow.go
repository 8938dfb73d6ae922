package logretention

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/nodekeeper/nodekeeper/internal/regularfile"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/safelink"
)

// follow links what an attempt has written and is not linked yet: all files of
// its log in the order of writing, so that a rotation that was missed comes
// before what was written after it.
func (k *Keeper) follow(a *attempt) {
	if a.superseded || a.birth.LogPath == "" {
		return
	}
	segments := len(a.live.Segments())
	for range openTries {
		nameless := k.followOnce(a)
		if len(nameless) == 0 {
			break
		}
		k.claim(a, nameless)
	}
	if len(a.live.Segments()) > segments {
		k.prune(a)
	}
}

// followOnce links files up to one that has lost its last name this moment,
// which it returns: whether that was compressed or removed has to be seen before
// anything that was written later is linked. The caller closes it.
func (k *Keeper) followOnce(a *attempt) (nameless []*safelink.Source) {
	files, sure, err := k.openLog(a)
	k.complain(a, err)
	known := func(f piece) bool { return a.live.Has(f.src) }
	a.adrift = len(a.live.Segments()) > 0 && !slices.ContainsFunc(files, known)
	// Otherwise the runtime failed to create it, and unlinked its log: what is
	// there now is the log of the attempt that was given the same number.
	ours := a.known || !a.adrift
	a.there = false
	for i, f := range files {
		switch {
		case !ours || i >= sure || len(nameless) > 0:
		case !f.Compressed && f.src.Stat().Nlink == 0 && !known(f):
			nameless = append(nameless, f.src)
			continue
		default:
			err := k.take(a, f)
			k.complain(a, err)
			a.there = a.there || err == nil && f.Rotated == ""
			a.anchored = a.anchored || a.there
		}
		_ = f.src.Close()
	}
	return nameless
}

// take links one file of a log.
func (k *Keeper) take(a *attempt, f piece) error {
	if f.Compressed {
		return k.takeCompressed(a, f.Rotated, f.src)
	}
	if f.Rotated != "" && f.src.Stat().Size == 0 {
		return nil // no kubelet rotates an empty file, and there is nothing in it
	}
	return k.keep(a, f.src, f.Rotated)
}

// claim takes files that were opened and have lost their names, or may have, and
// closes them. What has a name still, or was compressed, is found there in its
// order; what has been removed altogether is older than all that.
func (k *Keeper) claim(a *attempt, sources []*safelink.Source) {
	named := map[inode]bool{}
	heads := map[string]bool{}
	files, _, err := k.openLog(a)
	k.complain(a, err)
	for _, f := range files {
		named[inodeOf(f.src)] = true
		if f.Compressed {
			if head, err := textHead(f.src); err == nil {
				heads[string(head)] = true
			}
		}
		_ = f.src.Close()
	}
	for _, src := range sources {
		if head, err := plainHead(src); !named[inodeOf(src)] && (err != nil || !heads[string(head)]) {
			k.complain(a, k.keep(a, src, ""))
		}
		_ = src.Close()
	}
}

// keep links a plain file, unless it is linked, and notes its name once it is
// rotated. A log that cannot be linked is copied as far as it has got.
func (k *Keeper) keep(a *attempt, src *safelink.Source, rotated string) error {
	if !a.live.Has(src) {
		if inodeOf(src).dev != k.device && src.Stat().Size == 0 {
			// It will be a copy, and an empty one could not be told from that of
			// a later file with the same inode number.
			return nil
		}
		if err := a.beforeNext(rotated); err != nil {
			return err
		}
	}
	i, err := a.live.AddLink(src)
	if err != nil {
		return err
	}
	segs := a.live.Segments()
	if i >= len(segs) {
		return nil
	}
	kept, err := regularfile.Stat(filepath.Join(a.live.Path(), segs[i].Name))
	if err != nil {
		return err
	}
	a.copied = a.copied || inode{kept.Device, kept.Inode} != inodeOf(src)
	if rotated != "" && segs[i].Rotated != rotated {
		return a.live.Rotated(i, rotated)
	}
	return nil
}

// beforeNext declares what the kubelet may have removed, unseen, before the file
// that is about to become the next segment.
func (a *attempt) beforeNext(rotated string) error {
	segs := a.live.Segments()
	switch n := len(segs); {
	case n == 0 && rotated != "" && len(a.live.Gaps()) == 0:
		return a.live.AddGap(record.Gap{Bytes: -1, Reason: "captured late: older files may have been removed"})
	case n > 0 && a.adrift:
		// The newest segment was removed meanwhile, and maybe others after it.
		a.adrift = false
		return a.live.AddGap(record.Gap{Before: n, Bytes: -1, Reason: "nobody looked for long: files may have been removed"})
	}
	return nil
}

// rotatesAbove is a size below which no kubelet is set to rotate a log (10 MiB
// is its default).
const rotatesAbove = 64 << 10

// atEnd declares what may be missing at the end: a log that only the hook has
// seen, and that nobody looked at before the kubelet removed it, may have been
// rotated; one that is copied has grown since.
func (k *Keeper) atEnd(a *attempt) {
	if a.superseded || a.anchored && (a.there || !a.copied) {
		return
	}
	k.complain(a, a.live.Refresh())
	segs := a.live.Segments()
	n := len(segs)
	switch {
	case n == 0:
		k.complain(a, a.live.AddGap(record.Gap{Bytes: -1, Reason: "its log was removed before any of it was kept"}))
	case a.copied:
		k.complain(a, a.live.AddGap(record.Gap{Before: n, Bytes: -1, Reason: "its log was removed before all of it was copied"}))
	case segs[n-1].Bytes >= k.rotatesAbove:
		k.complain(a, a.live.AddGap(record.Gap{Before: n, Bytes: -1, Reason: "nobody looked before its log was removed: files may be missing"}))
	}
}

// prune drops the middle of a running attempt's log where it is too long.
func (k *Keeper) prune(a *attempt) { k.complain(a, a.live.Prune(context.Background())) }

// mostComplaints bounds what is said about one attempt's log.
const mostComplaints = 16

// complain says once each what is wrong with an attempt's log. That its files
// are gone is no fault: the kubelet removes them when the attempt has ended.
func (k *Keeper) complain(a *attempt, err error) {
	if err == nil || errors.Is(err, fs.ErrNotExist) || a.complaints[err.Error()] || len(a.complaints) == mostComplaints {
		return
	}
	if a.complaints == nil {
		a.complaints = map[string]bool{}
	}
	a.complaints[err.Error()] = true
	k.Log.Warn("a part of a log is not kept", a.attributes("error", err)...)
}
