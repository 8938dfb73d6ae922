package logretention

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/safelink"
)

// takeCompressed puts the kubelet's compressed file in the place of the segment
// that it was made of. One that was rotated and compressed while nobody looked
// becomes a segment itself.
func (k *Keeper) takeCompressed(a *attempt, rotated string, src *safelink.Source) error {
	if a.missed[rotated] {
		return nil
	}
	segs := a.live.Segments()
	for _, seg := range segs {
		if seg.Rotated == rotated && seg.Compressed() {
			a.adrift = false
			return nil
		}
	}
	head, err := textHead(src)
	if err != nil {
		return err
	}
	for _, i := range origins(segs, rotated) {
		ours, err := fileHead(filepath.Join(a.live.Path(), segs[i].Name))
		// A copy may have less of it.
		if err != nil || !bytes.HasPrefix(head, ours) || len(ours) == 0 && len(head) > 0 {
			continue
		}
		a.adrift = false
		if err := a.live.AdoptGzip(i, src); err != nil {
			return a.stays(rotated, i, src, err)
		}
		return a.live.Rotated(i, rotated)
	}
	for i, seg := range segs {
		if seg.Rotated >= rotated || k.current(a, seg) {
			return a.miss(rotated, i, errors.New("it appeared after what was written later"))
		}
	}
	if err := a.beforeNext(rotated); err != nil {
		return err
	}
	i, err := a.live.AddGzip(src)
	switch {
	case safelink.CannotLink(err):
		return a.miss(rotated, len(segs), err)
	case err != nil:
		return err
	}
	return a.live.Rotated(i, rotated)
}

// origins are segments that a compressed file may have been made of, likely
// ones first: those of its name, of which two rotations within a second give
// the name to the later; then those whose rotation nobody saw.
func origins(segs []record.Segment, rotated string) []int {
	var named, unnamed []int
	for i, seg := range segs {
		switch {
		case seg.Compressed():
		case seg.Rotated == rotated:
			named = append(named, i)
		case seg.Rotated == "":
			unnamed = append(unnamed, i)
		}
	}
	slices.Reverse(named)
	return append(named, unnamed...)
}

// headSize is how much of two texts is compared: the time stamps of log records
// tell them apart long before.
const headSize = 4 << 10

func textHead(src *safelink.Source) ([]byte, error) {
	r, err := src.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	text, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", src.Path(), err)
	}
	return head(text)
}

// textSize is the size, modulo 2^32, of the text of a gzip file (RFC 1952).
func textSize(src *safelink.Source) (uint32, error) {
	r, err := src.Reader()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	var tail [4]byte
	if _, err := r.ReadAt(tail[:], src.Stat().Size-int64(len(tail))); err != nil {
		return 0, fmt.Errorf("%s: %w", src.Path(), err)
	}
	return binary.LittleEndian.Uint32(tail[:]), nil
}

func plainHead(src *safelink.Source) ([]byte, error) {
	r, err := src.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return head(r)
}

func fileHead(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return head(f)
}

func head(r io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(r, headSize)) }

// current tells whether a segment is the file at the attempt's log path.
func (k *Keeper) current(a *attempt, seg record.Segment) bool {
	live, err := os.Lstat(a.birth.LogPath)
	if err != nil {
		return false
	}
	ours, err := os.Lstat(filepath.Join(a.live.Path(), seg.Name))
	return err == nil && os.SameFile(live, ours)
}

// stays leaves a segment as it is where the compressed file cannot take its
// place: it is a copy, on another file system. If the file was compressed before
// the rest of it was copied, the rest is declared missing.
func (a *attempt) stays(rotated string, i int, src *safelink.Source, why error) error {
	size, err := textSize(src)
	if err != nil {
		return errors.Join(why, err)
	}
	have := uint32(a.live.Segments()[i].Bytes)
	if have == size && !safelink.CannotLink(why) {
		return why // may work the next time
	}
	if err := a.live.Rotated(i, rotated); err != nil {
		return err
	}
	a.pass(rotated)
	declared := slices.ContainsFunc(a.live.Gaps(), func(g record.Gap) bool { return g.Before == i+1 && g.Offset == 0 })
	if have == size || declared {
		return nil
	}
	return a.live.AddGap(record.Gap{Before: i + 1, Bytes: int64(size - have), Reason: rotated + " was compressed before all of it was copied"})
}

// pass notes that nothing more can be done about a compressed file.
func (a *attempt) pass(rotated string) {
	if a.missed == nil {
		a.missed = map[string]bool{}
	}
	a.missed[rotated] = true
}

// miss declares, once, that a compressed file is not kept.
func (a *attempt) miss(rotated string, before int, why error) error {
	a.pass(rotated)
	return a.live.AddGap(record.Gap{Before: before, Bytes: -1, Reason: fmt.Sprintf("%s.gz is not kept: %v", rotated, why)})
}
