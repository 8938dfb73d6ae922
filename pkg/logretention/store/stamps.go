package store

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"golang.org/x/sys/unix"
)

const (
	// stampWindow is how much of a segment's beginning and end is looked
	// through for a log record: conmon cuts lines at 8 KiB.
	stampWindow = 64 << 10
	// stampSkim is how much of a compressed segment is read to get at its end.
	stampSkim = 256 << 20
)

// stamps finds the times of the first and the last log record that can be
// read. Torn lines and blocks of NULs have none and are passed over.
func stamps(dir string, segments []record.Segment) (first, last *time.Time) {
	for _, seg := range segments {
		if first = firstStamp(filepath.Join(dir, seg.Name), seg.Compressed()); first != nil {
			break
		}
	}
	for i := len(segments) - 1; i >= 0 && last == nil; i-- {
		last = lastStamp(filepath.Join(dir, segments[i].Name), segments[i].Compressed())
	}
	return first, last
}

func firstStamp(path string, compressed bool) *time.Time {
	f, err := openSegment(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	text := io.Reader(f)
	if compressed {
		if text, err = gzip.NewReader(bufio.NewReader(f)); err != nil {
			return nil
		}
	}
	head, _ := io.ReadAll(io.LimitReader(text, stampWindow))
	for line := range bytes.Lines(head) {
		if t, ok := stamp(line); ok {
			return &t
		}
	}
	return nil
}

func lastStamp(path string, compressed bool) *time.Time {
	f, err := openSegment(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	var tail []byte
	if compressed {
		tail = gzipTail(f)
	} else {
		tail = fileTail(f)
	}
	for len(tail) > 0 {
		at := bytes.LastIndexByte(tail[:len(tail)-1], '\n') + 1
		if t, ok := stamp(tail[at:]); ok {
			return &t
		}
		tail = tail[:at]
	}
	return nil
}

func fileTail(f *os.File) []byte {
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	tail := make([]byte, min(info.Size(), stampWindow))
	n, _ := f.ReadAt(tail, info.Size()-int64(len(tail)))
	return tail[:n]
}

// gzipTail reads through a compressed file, in constant memory.
func gzipTail(f *os.File) []byte {
	text, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		return nil
	}
	var tail []byte
	buffer := make([]byte, stampWindow)
	for read := 0; read < stampSkim; {
		n, err := io.ReadFull(text, buffer)
		read += n
		tail = append(tail, buffer[:n]...)
		tail = append(tail[:0], tail[max(0, len(tail)-stampWindow):]...)
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				return nil
			}
			return tail
		}
	}
	return nil
}

// stamp is the time that a line of a CRI log begins with
// (k8s.io/cri-client pkg/logs parseCRILog).
func stamp(line []byte) (time.Time, bool) {
	at := bytes.IndexByte(line, ' ')
	if at < 0 || at > len(time.RFC3339Nano) {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339Nano, string(line[:at]))
	return t.UTC(), err == nil
}

func openSegment(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}
