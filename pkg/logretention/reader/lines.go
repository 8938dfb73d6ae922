package reader

import (
	"bytes"
	"context"
	"errors"
	"io"
)

const (
	// readSize is how much is read at once. A line that is longer comes in
	// pieces.
	readSize = 64 << 10
	// maxJSONLine bounds a line of docker's format, which must be whole to be
	// understood. Docker writes 16 KiB.
	maxJSONLine = 16 << 20
)

// lines splits text into lines, in constant memory.
type lines struct {
	ctx        context.Context
	r          io.Reader
	buf        []byte
	start, end int
	err        error
	inLine     bool // the piece before did not end its line
	// offset is the position of buf[start] in the text.
	offset int64
}

// piece is a line, or a part of one that is too long for the buffer.
type piece struct {
	// data is valid until the next call; it includes the newline.
	data []byte
	// offset is where it begins, with the NUL bytes that were left out.
	offset int64
	// first and last tell where the line begins and ends. The last line of a
	// text may have no newline.
	first, last bool
	// zeros is how many NUL bytes were left out before this: what a file
	// system shows of blocks that never reached the disk.
	zeros int64
}

func newLines(ctx context.Context, r io.Reader, buf []byte, offset int64) *lines {
	return &lines{ctx: ctx, r: r, buf: buf, offset: offset}
}

// next gives the next piece, or io.EOF, or what reading failed with.
func (l *lines) next() (piece, error) {
	p := piece{first: !l.inLine, offset: l.offset}
	searched := 0
	for {
		if p.first && searched == 0 {
			n := leadingZeros(l.buf[l.start:l.end])
			p.zeros += int64(n)
			l.skip(n)
		}
		data := l.buf[l.start:l.end]
		if i := bytes.IndexByte(data[searched:], '\n'); i >= 0 {
			return l.take(p, searched+i+1, true), nil
		}
		searched = len(data)
		switch {
		case l.err != nil && (len(data) > 0 || p.zeros > 0):
			return l.take(p, len(data), true), nil
		case l.err != nil:
			return piece{}, l.err
		case l.start == 0 && l.end == len(l.buf) && !l.grow(p.first):
			return l.take(p, len(data), false), nil
		}
		l.fill()
	}
}

func leadingZeros(b []byte) int {
	n := 0
	for n < len(b) && b[n] == 0 {
		n++
	}
	return n
}

func (l *lines) skip(n int) {
	l.start += n
	l.offset += int64(n)
}

func (l *lines) take(p piece, n int, last bool) piece {
	p.data, p.last = l.buf[l.start:l.start+n], last
	l.inLine = !last
	l.skip(n)
	return p
}

func (l *lines) grow(first bool) bool {
	if !first || l.buf[0] != '{' || len(l.buf) >= maxJSONLine {
		return false
	}
	buf := make([]byte, min(2*len(l.buf), maxJSONLine))
	copy(buf, l.buf[:l.end])
	l.buf = buf
	return true
}

// fill reads more behind what there is. It gives up on a reader that gives
// nothing.
func (l *lines) fill() {
	if l.start > 0 {
		l.end = copy(l.buf, l.buf[l.start:l.end])
		l.start = 0
	}
	if l.err = l.ctx.Err(); l.err != nil {
		return
	}
	for range 100 {
		n, err := l.r.Read(l.buf[l.end:])
		l.end += n
		if err != nil {
			l.err = err
			return
		}
		if n > 0 {
			return
		}
	}
	l.err = io.ErrNoProgress
}

// broken tells a failed read from the end.
func (l *lines) broken() error {
	if errors.Is(l.err, io.EOF) {
		return nil
	}
	return l.err
}
