package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"
)

// firstBytes is how much of a file is asked for at first: all of most of them,
// and enough of the others to learn their size.
const firstBytes = 64 << 10

// nodeFiles are the files of a node's record root as its kubelet serves them:
// http.FileServer over /var/log. They may be used concurrently.
type nodeFiles struct {
	cluster   *cluster
	node, dir string
}

// Open opens a file. It can be read from anywhere if the server grants ranges,
// else from its beginning on.
func (n *nodeFiles) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	f := &nodeFile{ctx: ctx, of: n, name: name}
	answer, err := f.ask(0, firstBytes)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusPartialContent {
		return answer.Body, nil
	}
	f.stream = answer.Body
	if f.size, err = total(answer.Header.Get("Content-Range")); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), f.Close())
	}
	f.end = min(firstBytes, f.size)
	return f, nil
}

// OpenFrom opens a file at a position: what is there now is the rest of it. The
// server may grant no ranges.
func (n *nodeFiles) OpenFrom(ctx context.Context, name string, from int64) (io.ReadCloser, error) {
	answer, err := n.get(ctx, name, http.Header{"Range": {fmt.Sprintf("bytes=%d-", from)}})
	var r *refusal
	if errors.As(err, &r) && r.code == http.StatusRequestedRangeNotSatisfiable {
		return http.NoBody, nil // nothing has been added
	}
	if err != nil {
		return nil, err
	}
	if answer.StatusCode == http.StatusPartialContent {
		if got := answer.Header.Get("Content-Range"); !strings.HasPrefix(got, fmt.Sprintf("bytes %d-", from)) {
			return nil, errors.Join(fmt.Errorf("%s: the server answered with the range %q", name, got), answer.Body.Close())
		}
		return answer.Body, nil
	}
	if answer.ContentLength >= 0 && answer.ContentLength <= from {
		return http.NoBody, answer.Body.Close()
	}
	if _, err := io.CopyN(io.Discard, answer.Body, from); err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), answer.Body.Close())
	}
	return answer.Body, nil
}

// total is what follows the slash of "bytes 0-65535/1048576".
func total(contentRange string) (int64, error) {
	_, text, _ := strings.Cut(contentRange, "/")
	size, err := strconv.ParseInt(text, 10, 64)
	if err != nil || size < 0 || !strings.HasPrefix(contentRange, "bytes 0-") {
		return 0, fmt.Errorf("the server answered with the range %q", contentRange)
	}
	return size, nil
}

// nodeFile is an open file of a known size. What is written to it later is not
// read. One goroutine at a time may use it.
type nodeFile struct {
	ctx  context.Context
	of   *nodeFiles
	name string
	size int64
	// read is where Read goes on.
	read int64
	// stream is an answer that is being read: at position next of the file, up
	// to end.
	stream    io.ReadCloser
	next, end int64
}

// Size is the size when the file was opened.
func (f *nodeFile) Size() (int64, error) { return f.size, nil }

func (f *nodeFile) Read(p []byte) (int, error) {
	if f.read >= f.size {
		return 0, io.EOF
	}
	n, err := f.ReadAt(p[:min(int64(len(p)), f.size-f.read)], f.read)
	f.read += int64(n)
	return n, err
}

// ReadAt goes on with the answer at hand where that is possible. One that jumps
// asks for no more than it needs; one that goes on where the last one ended is
// likely to want the rest of the file.
func (f *nodeFile) ReadAt(p []byte, at int64) (n int, err error) {
	short := error(nil)
	if left := max(0, f.size-at); int64(len(p)) > left {
		p, short = p[:left], io.EOF
	}
	for n < len(p) {
		if f.stream == nil || f.next != at || f.next == f.end {
			if err := f.seek(at, int64(len(p)-n)); err != nil {
				return n, err
			}
		}
		m, err := io.ReadFull(f.stream, p[n:min(int64(len(p)), int64(n)+f.end-f.next)])
		n, at, f.next = n+m, at+int64(m), f.next+int64(m)
		if err != nil {
			return n, fmt.Errorf("%s ended after %d of %d bytes: %w", f.name, at, f.size, err)
		}
	}
	return n, short
}

// seek asks for a part of the file that begins at a position.
func (f *nodeFile) seek(at, length int64) error {
	end := at + length
	if at == f.next && at > 0 {
		end = f.size
	}
	if err := f.Close(); err != nil {
		return err
	}
	answer, err := f.ask(at, end-at)
	if err != nil {
		return err
	}
	if got := answer.Header.Get("Content-Range"); answer.StatusCode != http.StatusPartialContent ||
		!strings.HasPrefix(got, fmt.Sprintf("bytes %d-", at)) {
		_ = answer.Body.Close()
		return fmt.Errorf("%s: the server answered with the range %q", f.name, got)
	}
	f.stream, f.next, f.end = answer.Body, at, end
	return nil
}

func (f *nodeFile) ask(at, length int64) (*http.Response, error) {
	return f.of.get(f.ctx, f.name, http.Header{"Range": {fmt.Sprintf("bytes=%d-%d", at, at+length-1)}})
}

// Close ends the answer at hand.
func (f *nodeFile) Close() error {
	if f.stream == nil {
		return nil
	}
	err := f.stream.Close()
	f.stream = nil
	return err
}

func (n *nodeFiles) get(ctx context.Context, name string, header http.Header) (*http.Response, error) {
	at := path.Join("/api/v1/nodes", n.node, "proxy/logs", path.Join("/", n.dir), path.Join("/", name))
	answer, err := n.cluster.get(ctx, at, url.Values{}, header)
	if err = ofNode(err); errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return answer, err
}

// small reads a small file, and tells what the time was on the node and when
// the file was written.
func (n *nodeFiles) small(ctx context.Context, name string, limit int64) (data []byte, now, written time.Time, err error) {
	answer, err := n.get(ctx, name, nil)
	if err != nil {
		return nil, now, written, err
	}
	defer answer.Body.Close()
	now, _ = http.ParseTime(answer.Header.Get("Date"))
	written, _ = http.ParseTime(answer.Header.Get("Last-Modified"))
	data, err = io.ReadAll(io.LimitReader(answer.Body, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s: more than %d bytes", name, limit)
	}
	return data, now, written, err
}
