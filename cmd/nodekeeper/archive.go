package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/reader"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// archive is a tar.gz file in the making. After an error nothing more is
// written, and Close returns it.
type archive struct {
	gz  *gzip.Writer
	tar *tar.Writer
	top string
	now time.Time
	// pending are lines of a file to come.
	pending bytes.Buffer
	// gone are records that could not be packed because they are no more.
	gone []string
	err  error
}

// newArchive begins an archive of one directory, top.
func newArchive(w io.Writer, top string, now time.Time) *archive {
	gz := gzip.NewWriter(w)
	return &archive{gz: gz, tar: tar.NewWriter(gz), top: top, now: now}
}

func (a *archive) text(name string, data []byte) {
	a.stream(name, int64(len(data)), bytes.NewReader(data))
}

func (a *archive) json(v any, name string) {
	data, err := json.MarshalIndent(v, "", "  ")
	a.fail(err)
	a.text(name, append(data, '\n'))
}

// line adds a line to the file that lines packs.
func (a *archive) line(v any) { a.fail(json.NewEncoder(&a.pending).Encode(v)) }

func (a *archive) lines(name string) {
	a.text(name, a.pending.Bytes())
	a.pending = bytes.Buffer{}
}

func (a *archive) fail(err error) {
	if a.err == nil {
		a.err = err
	}
}

// stream packs size bytes of r. That there are more of a log that is being
// written is as it should be.
func (a *archive) stream(name string, size int64, r io.Reader) {
	if a.err != nil {
		return
	}
	a.fail(a.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: path.Join(a.top, name), Mode: 0o600, Size: size, ModTime: a.now}))
	if a.err != nil {
		return
	}
	if n, err := io.CopyN(a.tar, r, size); err != nil {
		a.fail(fmt.Errorf("pack %s: after %d of %d bytes: %w", name, n, size, err))
	}
}

// record packs the files of a record.
func (a *archive) record(ctx context.Context, files *reader.Dir, e *record.Entry) {
	if a.file(ctx, files, e.Path, record.MetaFile) {
		a.segments(ctx, files, e.Path, e.Segments)
	} else {
		a.gone = append(a.gone, e.Path)
	}
}

// live packs the files of an attempt that has no record yet.
func (a *archive) live(ctx context.Context, files *reader.Dir, l *record.Live) {
	if a.file(ctx, files, l.Path, record.BirthFile) {
		// There is none before the first rotation.
		a.file(ctx, files, l.Path, record.CaptureFile)
		a.segments(ctx, files, l.Path, l.Segments)
	} else {
		a.gone = append(a.gone, l.Path)
	}
}

func (a *archive) segments(ctx context.Context, files *reader.Dir, dir string, segments []record.Segment) {
	for _, s := range segments {
		// The index may have been written before the segment was compressed.
		if !a.file(ctx, files, dir, s.Name) && (s.Compressed() || !a.file(ctx, files, dir, s.Name+".gz")) {
			a.gone = append(a.gone, path.Join(dir, s.Name))
		}
	}
}

// file packs one file and tells whether there is one.
func (a *archive) file(ctx context.Context, files *reader.Dir, dir, name string) bool {
	if a.err != nil {
		return true
	}
	f, err := files.Open(ctx, path.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err != nil {
		a.fail(err)
		return true
	}
	defer f.Close()
	size, err := f.(interface{ Size() (int64, error) }).Size()
	a.fail(err)
	// What is hidden in the record root would be overlooked in an archive.
	a.stream(path.Join(strings.TrimPrefix(dir, "."), name), size, &stopping{ctx, f})
	return true
}

// Close ends the archive and returns what went wrong first.
func (a *archive) Close() error {
	if a.err == nil {
		a.err = a.tar.Close()
	}
	if a.err == nil {
		a.err = a.gz.Close()
	}
	return a.err
}

// stopping ends a long copy when its context ends.
type stopping struct {
	ctx context.Context
	r   io.Reader
}

func (s *stopping) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.r.Read(p)
}

func nodeName(x *record.Index) string { return cmp.Or(x.Node, "node") }
