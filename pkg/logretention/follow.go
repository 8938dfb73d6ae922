package logretention

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/podlogs"
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
	files, err := podlogs.Files(a.dir())
	if err != nil {
		k.complain(a, err)
		return
	}
	files = slices.DeleteFunc(files, func(f podlogs.File) bool { return f.Attempt != a.birth.Attempt.Attempt })
	if !a.known && len(a.live.Segments()) > 0 && !k.any(a, files) {
		// The runtime failed to create it, and unlinked its log: what is there
		// now is the log of the attempt that was given the same number.
		return
	}
	grown := false
	for i, f := range files {
		more, err := k.take(a, f, slices.ContainsFunc(files[i+1:], func(g podlogs.File) bool { return g.Rotated == f.Rotated && g.Compressed }))
		k.complain(a, err)
		grown = grown || more
	}
	if grown {
		k.prune(a)
	}
}

// any tells whether one of the files is a segment already.
func (k *Keeper) any(a *attempt, files []podlogs.File) bool {
	return slices.ContainsFunc(files, func(f podlogs.File) bool {
		src, err := safelink.Open(filepath.Join(a.dir(), f.Name))
		if err != nil {
			return false
		}
		defer src.Close()
		return a.live.Has(src.Stat().Dev, src.Stat().Ino)
	})
}

// take links one file of a log. Twice says that the kubelet has just compressed
// it, and will remove it.
func (k *Keeper) take(a *attempt, f podlogs.File, twice bool) (more bool, err error) {
	src, err := safelink.Open(filepath.Join(a.dir(), f.Name))
	if err != nil {
		return false, err
	}
	defer src.Close()
	if f.Compressed {
		return k.takeCompressed(a, f.Rotated, src)
	}
	if stat := src.Stat(); twice && !a.live.Has(stat.Dev, stat.Ino) {
		return false, nil
	}
	return k.keep(a, src, f.Rotated)
}

// keep links a plain file, unless it is linked, and notes its name once it is
// rotated. A log that cannot be linked is copied as far as it has got.
func (k *Keeper) keep(a *attempt, src *safelink.Source, rotated string) (more bool, err error) {
	stat := src.Stat()
	more = !a.live.Has(stat.Dev, stat.Ino)
	if more {
		if err := k.lateGap(a, rotated); err != nil {
			return false, err
		}
	}
	i, err := a.live.AddLink(src)
	if err != nil {
		return false, err
	}
	if segs := a.live.Segments(); rotated != "" && i < len(segs) && segs[i].Rotated != rotated {
		err = a.live.Rotated(i, rotated)
	}
	return more, err
}

// lateGap declares what the kubelet may have removed before anybody captured:
// the first file that was found has been rotated.
func (k *Keeper) lateGap(a *attempt, rotated string) error {
	if rotated == "" || len(a.live.Segments()) > 0 || len(a.live.Gaps()) > 0 {
		return nil
	}
	return a.live.AddGap(record.Gap{Bytes: -1, Reason: "captured late: the kubelet may have removed older files"})
}

// prune drops the middle of a running attempt's log where it is too long.
func (k *Keeper) prune(a *attempt) { k.complain(a, a.live.Prune(context.Background())) }

// complain says once what is wrong with an attempt's log. That its files are
// gone is no fault: the kubelet removes them when the attempt has ended.
func (k *Keeper) complain(a *attempt, err error) {
	if err == nil || errors.Is(err, fs.ErrNotExist) || err.Error() == a.complaint {
		return
	}
	a.complaint = err.Error()
	k.Log.Warn("a part of a log is not kept", a.attributes("error", err)...)
}
