package reader

import (
	"bytes"
	"errors"
	"io"
)

// backBlock is how much is read at once on the way back.
const backBlock = 64 << 10

// backwards gives the lines of a text, the last one first.
type backwards struct {
	at        io.ReaderAt
	from, end int64 // what is left of the text
	buf       []byte
	lo        int64 // where buf is in the text
	head      []byte
}

// prev gives the line before, or as much of its beginning as parse needs, with
// its position; whole is set if it ends in a newline. As lines does, it leaves
// out NUL bytes at its beginning. io.EOF is the beginning of the text.
func (b *backwards) prev() (line []byte, offset int64, whole bool, err error) {
	if b.end <= b.from {
		return nil, 0, false, io.EOF
	}
	begin, err := b.after(b.end - 1)
	if err != nil {
		return nil, 0, false, err
	}
	end := b.end
	b.end = begin
	if whole, err = b.newlineAt(end - 1); err != nil {
		return nil, 0, false, err
	}
	for offset = begin; ; {
		if line, err = b.text(begin, end); err != nil {
			return nil, 0, false, err
		}
		n := leadingZeros(line)
		line = line[n:]
		if begin += int64(n); n == 0 || begin == end {
			return line, offset, whole, nil
		}
	}
}

// whole is the end of the last line that ends in a newline.
func (b *backwards) whole() (int64, error) { return b.after(b.end) }

// after is the position behind the last newline before a position.
func (b *backwards) after(pos int64) (int64, error) {
	for pos > b.from {
		if err := b.load(pos); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(b.buf[:pos-b.lo], '\n'); i >= 0 {
			return b.lo + int64(i) + 1, nil
		}
		pos = b.lo
	}
	return b.from, nil
}

func (b *backwards) newlineAt(pos int64) (bool, error) {
	if err := b.load(pos + 1); err != nil {
		return false, err
	}
	return b.buf[pos-b.lo] == '\n', nil
}

// load makes the byte before a position available, and many before it.
func (b *backwards) load(pos int64) error {
	if pos > b.lo && pos <= b.lo+int64(len(b.buf)) {
		return nil
	}
	// Up to the end of the line in hand, which is likely to be wanted whole.
	hi := pos
	if b.end > pos && b.end-pos < backBlock/2 {
		hi = b.end
	}
	lo := max(b.from, hi-backBlock)
	if b.buf == nil {
		b.buf = make([]byte, 0, backBlock)
	}
	b.buf, b.lo = b.buf[:hi-lo], lo
	return b.read(b.buf, lo)
}

func (b *backwards) read(p []byte, at int64) error {
	n, err := b.at.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// text gives the beginning of a line: all that parse looks at.
func (b *backwards) text(begin, end int64) ([]byte, error) {
	if begin >= b.lo && end <= b.lo+int64(len(b.buf)) {
		return b.buf[begin-b.lo : end-b.lo], nil
	}
	most := int64(readSize)
	for {
		n := int(min(end-begin, most))
		if cap(b.head) < n {
			b.head = make([]byte, n)
		}
		b.head = b.head[:n]
		if err := b.read(b.head, begin); err != nil {
			return nil, err
		}
		if b.head[0] != '{' || most == maxJSONLine {
			return b.head, nil
		}
		most = maxJSONLine
	}
}
