package store

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// What is worth compressing: long enough ended that nobody reads it at this
// moment, large enough to give blocks back.
const (
	compressAfter = 10 * time.Minute
	compressAbove = 64 << 10
)

// compress compresses segments that the kubelet has let go of, one at a time.
// The store is locked only while a finished one takes its place.
func (s *Store) compress(ctx context.Context) error {
	var errs []error
	for _, c := range s.compressible() {
		if ctx.Err() != nil {
			break
		}
		err := s.compressOne(ctx, c)
		if isFull(err) {
			break // there will be room when others have gone
		}
		if err != nil && ctx.Err() == nil {
			errs = append(errs, fmt.Errorf("compress %s of %s: %w", c.name, c.path, err))
		}
	}
	return errors.Join(errs...)
}

// candidate is a segment to be compressed.
type candidate struct {
	path, name string
	file       file
}

// hollow tells that a file consists of holes mostly, which no log of conmon's
// does, or lies compressed on the disk: there is little to gain, and a terabyte
// of nothing would take an hour to read.
func hollow(f file) bool { return f.size/16 > f.blocks }

func (s *Store) compressible() []candidate {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []candidate
	for _, k := range s.records {
		if k.Hold != nil || s.Now().Sub(k.Recorded) < compressAfter {
			continue
		}
		for _, seg := range k.Segments {
			f, err := stat(filepath.Join(s.path(k.Path), seg.Name))
			if err == nil && !seg.Compressed() && f.links == 1 && f.size > compressAbove && !hollow(f) && !k.dense[seg.Name] {
				out = append(out, candidate{k.Path, seg.Name, f})
			}
		}
	}
	slices.SortFunc(out, func(a, b candidate) int {
		return cmp.Or(strings.Compare(a.path, b.path), strings.Compare(a.name, b.name))
	})
	return out
}

func (s *Store) compressOne(ctx context.Context, c candidate) error {
	dir := s.path(c.path)
	n, _, _ := record.ParseSegment(c.name)
	name := record.SegmentName(n, true)
	packed := filepath.Join(dir, temporary+name)
	err := idly(func() error {
		sum, err := s.pack(ctx, filepath.Join(dir, c.name), packed)
		s.Step("compress:packed")
		if err != nil {
			return err
		}
		return verify(ctx, packed, sum)
	})
	s.Step("compress:verified")
	if err != nil {
		return errors.Join(err, removeFiles(dir, temporary+name))
	}
	return s.mutate(func() error {
		err := s.place(c, name)
		if err != nil {
			err = errors.Join(err, removeFiles(dir, temporary+name))
		}
		return err
	})
}

// place puts a compressed segment into the place of the raw one, if that is
// still what was compressed.
func (s *Store) place(c candidate, name string) error {
	dir := s.path(c.path)
	k, ok := s.records[c.path]
	if !ok {
		return nil // evicted meanwhile, with the new file
	}
	now, err := stat(filepath.Join(dir, c.name))
	i := slices.IndexFunc(k.Segments, func(seg record.Segment) bool { return seg.Name == c.name })
	if err != nil || i < 0 || now.id != c.file.id || now.size != c.file.size || now.links != 1 || k.Hold != nil {
		return removeFiles(dir, temporary+name)
	}
	packed, err := stat(filepath.Join(dir, temporary+name))
	if err != nil {
		return err
	}
	if packed.blocks >= now.blocks {
		if k.dense == nil {
			k.dense = map[string]bool{}
		}
		k.dense[c.name] = true
		return removeFiles(dir, temporary+name)
	}
	meta := k.Meta
	meta.Segments = slices.Clone(k.Segments)
	meta.Segments[i].Name, meta.Segments[i].Bytes = name, now.size
	return s.changeFiles(k, plan{Place: []string{name}, Drop: []string{c.name}}, meta)
}

// checksum is what was compressed.
type checksum struct {
	crc   uint32
	bytes int64
}

func (s *Store) pack(ctx context.Context, from, to string) (sum checksum, err error) {
	in, err := openSegment(from)
	if err != nil {
		return sum, err
	}
	defer in.Close()
	if err := create(to, nil, false); err != nil {
		return sum, err
	}
	out, err := os.OpenFile(to, os.O_WRONLY, 0)
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if err := s.failing("write", to); err != nil {
		return sum, err
	}
	crc := crc32.NewIEEE()
	buffered := bufio.NewWriterSize(out, 64<<10)
	zip, err := gzip.NewWriterLevel(buffered, gzip.BestSpeed)
	if err != nil {
		return sum, err
	}
	sum.bytes, err = io.Copy(io.MultiWriter(zip, crc), reading{ctx, in})
	sum.crc = crc.Sum32()
	return sum, errors.Join(err, zip.Close(), buffered.Flush(), out.Sync())
}

// verify reads back what was compressed.
func verify(ctx context.Context, path string, want checksum) error {
	f, err := openSegment(path)
	if err != nil {
		return err
	}
	defer f.Close()
	unzip, err := gzip.NewReader(bufio.NewReader(reading{ctx, f}))
	if err != nil {
		return err
	}
	crc := crc32.NewIEEE()
	n, err := io.Copy(crc, unzip)
	if err != nil {
		return err
	}
	if got := (checksum{crc.Sum32(), n}); got != want {
		return fmt.Errorf("it came back as %d bytes, checksum %08x, not %d, %08x", got.bytes, got.crc, want.bytes, want.crc)
	}
	return nil
}

// reading is a reader that ends with its context.
type reading struct {
	ctx context.Context
	r   io.Reader
}

func (r reading) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
