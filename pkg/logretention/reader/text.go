package reader

import (
	"bytes"
	"context"
	"fmt"
)

// Tail is the end of an attempt's log: the last whole lines that together have
// at most maxBytes, or the end of the last line if that alone has more. It is
// not escaped.
func Tail(ctx context.Context, files Files, a Attempt, maxBytes int) ([]byte, error) {
	if maxBytes <= 0 {
		return nil, fmt.Errorf("tail of %d bytes: must be positive", maxBytes)
	}
	keep := &lastBytes{most: maxBytes}
	// A line has a byte at least, its newline.
	lines := int64(maxBytes)
	err := Write(ctx, keep, files, []Attempt{a}, Options{Tail: &lines})
	return keep.lines(), err
}

// lastBytes keeps the end of what is written to it, and one byte more, to see
// whether a line begins there.
type lastBytes struct {
	most int
	buf  []byte
	cut  bool
}

func (l *lastBytes) Write(p []byte) (int, error) {
	n := len(p)
	if len(p) > l.most+1 {
		p, l.cut, l.buf = p[len(p)-l.most-1:], true, l.buf[:0]
	}
	l.buf = append(l.buf, p...)
	if len(l.buf) > 4*(l.most+1) {
		l.trim()
	}
	return n, nil
}

func (l *lastBytes) trim() {
	if over := len(l.buf) - l.most - 1; over > 0 {
		l.buf, l.cut = append(l.buf[:0], l.buf[over:]...), true
	}
}

func (l *lastBytes) lines() []byte {
	l.trim()
	if !l.cut && len(l.buf) <= l.most {
		return l.buf
	}
	body := l.buf[1:]
	if l.buf[0] == '\n' {
		return body
	}
	if i := bytes.IndexByte(body, '\n'); i >= 0 && i < len(body)-1 {
		return body[i+1:]
	}
	return body
}
