// Package lines reads long logs line by line in constant memory, compressed or
// not.
package lines

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

const (
	// Longest is the longest line that is read; of a longer one only the
	// beginning would be known, so that it is passed over.
	Longest = 8 << 20
	// chunk is the size of the first buffer: nearly all lines fit.
	chunk = 256 << 10
)

// Counts are of a log, or of several added up.
type Counts struct {
	Lines int64 `json:"lines"`
	// TooLong are lines longer than Longest, which were passed over.
	TooLong int64 `json:"tooLong,omitempty"`
	// Torn is how many logs ended in the middle of a line or of their
	// compression. What came before counts.
	Torn int64 `json:"torn,omitempty"`
}

// Each calls do with each line of r, without its end. The line is valid during
// the call only. Whether r is compressed (gzip) is seen by its first bytes. An
// error is one of reading.
func (c *Counts) Each(r io.Reader, do func(line []byte)) error {
	in := bufio.NewReaderSize(r, chunk)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			c.Torn++
			return nil
		}
		in = bufio.NewReaderSize(z, chunk)
	}
	var long []byte
	for {
		line, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			// One byte more than is read tells that it is too long.
			if room := Longest + 1 - len(long); room > 0 {
				long = append(long, line[:min(room, len(line))]...)
			}
			continue
		case err == nil, errors.Is(err, io.EOF):
		case broken(err):
			c.Torn++
			return nil
		default:
			return fmt.Errorf("line %d: %w", c.Lines+1, err)
		}
		if len(long) > 0 {
			long = append(long, line...)
			line = long
		}
		ended := len(line) > 0 && line[len(line)-1] == '\n'
		if len(line) > 0 {
			c.Lines++
			line = bytes.TrimRight(line, "\r\n")
			if len(line) > Longest {
				c.TooLong++
			} else {
				do(line)
			}
		}
		if err != nil {
			if len(line) > 0 && !ended {
				c.Torn++
			}
			return nil
		}
		if cap(long) > 4*chunk {
			long = nil
		}
		long = long[:0]
	}
}

// broken tells an end of the compression that came too early, or damage.
func broken(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) ||
		errors.As(err, &corrupt)
}
