package reader

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// text is the open text of one segment.
type text struct {
	io.Reader
	file io.Closer
	// at is set where the text can be read from anywhere.
	at   io.ReaderAt
	size int64
	// local is the file of a Dir, which may still grow.
	local *localFile
}

func (t *text) Close() error { return t.file.Close() }

// openText opens a segment, from a position in its text on. A segment may have
// been compressed, or decompressed by somebody, since its name was written down.
func openText(ctx context.Context, files Files, s span) (*text, error) {
	name := path.Join(s.attempt.Path, s.attempt.Segments[s.segment].Name)
	t, err := openNamed(ctx, files, name)
	if errors.Is(err, fs.ErrNotExist) {
		other, ok := strings.CutSuffix(name, ".gz")
		if !ok {
			other = name + ".gz"
		}
		if found, otherErr := openNamed(ctx, files, other); otherErr == nil {
			return found, nil
		}
	}
	return t, err
}

func openNamed(ctx context.Context, files Files, name string) (*text, error) {
	file, err := files.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	t := &text{Reader: file, file: file}
	if strings.HasSuffix(name, ".gz") {
		t.Reader = &gunzip{file: file}
		return t, nil
	}
	if s, ok := file.(seekable); ok {
		size, err := s.Size()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("size of %s: %w", name, err), file.Close())
		}
		t.at, t.size = s, size
	}
	if f, ok := file.(localFile); ok {
		t.local = &f
	}
	return t, nil
}

// gunzip opens the stream at the first read, so that a damaged one is an error
// of reading, like any other damage.
type gunzip struct {
	file io.Reader
	gz   *gzip.Reader
}

func (g *gunzip) Read(p []byte) (int, error) {
	if g.gz == nil {
		gz, err := gzip.NewReader(g.file)
		if err != nil {
			// A segment without a byte has not even a header.
			return 0, err
		}
		g.gz = gz
	}
	return g.gz.Read(p)
}

// slice gives the text between two positions; to is -1 for the end.
func (t *text) slice(from, to int64) (io.Reader, error) {
	if t.at != nil {
		if to < 0 {
			// Not size: a live segment grows.
			return io.NewSectionReader(t.at, from, 1<<62), nil
		}
		return io.NewSectionReader(t.at, from, max(to-from, 0)), nil
	}
	if n, err := io.CopyN(io.Discard, t.Reader, from); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("after %d bytes: %w", n, err)
	}
	if to < 0 {
		return t.Reader, nil
	}
	return io.LimitReader(t.Reader, max(to-from, 0)), nil
}
