package reader

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// polled is the text of one segment of another machine, which cannot be held
// open: at its end it is asked for anew, from there on. It is found again where
// it has become a part of a record, or has been compressed.
type polled struct {
	r *reading
	// attempt is where the segment is, as far as is known.
	attempt *Attempt
	segment record.Segment
	number  int
	at      int64 // position in the text
	src     io.Reader
	file    io.Closer // nil if it must be asked for
	// next is what the attempt has become when nothing more is written to the
	// segment.
	next *Attempt
}

func (r *reading) poll(s span, from int64) *polled {
	p := &polled{r: r, attempt: s.attempt, segment: s.attempt.Segments[s.segment], at: from}
	p.number, _, _ = record.ParseSegment(p.segment.Name)
	return p
}

// Read gives what there is now; io.EOF may be followed by more.
func (p *polled) Read(b []byte) (int, error) {
	if p.file == nil {
		err := p.open()
		if errors.Is(err, fs.ErrNotExist) {
			return 0, io.EOF
		}
		if err != nil {
			return 0, err
		}
	}
	n, err := p.src.Read(b)
	p.at += int64(n)
	if n > 0 || err == nil {
		return n, nil
	}
	_ = p.Close()
	if errors.Is(err, fs.ErrNotExist) { // it was moved while it was read
		err = io.EOF
	}
	return 0, err
}

// open asks for the text where the attempt is, or for what it has become.
func (p *polled) open() error {
	err := p.openThere()
	if !errors.Is(err, fs.ErrNotExist) || !p.attempt.Live {
		return err
	}
	now, findErr := p.r.find(p.attempt)
	switch {
	case findErr != nil:
		return findErr
	case !now.Live:
		p.attempt = &now
		return p.openThere()
	}
	return err
}

func (p *polled) openThere() error {
	_, compressed, _ := record.ParseSegment(p.segment.Name)
	err := p.openNamed(compressed)
	if errors.Is(err, fs.ErrNotExist) && p.openNamed(!compressed) == nil {
		return nil
	}
	return err
}

func (p *polled) openNamed(compressed bool) error {
	name := path.Join(p.attempt.Path, record.SegmentName(p.number, compressed))
	from := p.at
	if compressed {
		from = 0
	}
	file, err := p.r.far.OpenFrom(p.r.ctx, name, from)
	if err != nil {
		return err
	}
	p.src, p.file = file, file
	if !compressed {
		return nil
	}
	p.src = &gunzip{file: file}
	if n, err := io.CopyN(io.Discard, p.src, p.at); err != nil && !errors.Is(err, io.EOF) {
		return errors.Join(fmt.Errorf("after %d bytes: %w", n, err), p.Close())
	}
	return nil
}

// Close ends the answer at hand.
func (p *polled) Close() error {
	if p.file == nil {
		return nil
	}
	err := p.file.Close()
	p.src, p.file = nil, nil
	return err
}

// over tells whether nothing more is written to the segment, and sets next.
func (p *polled) over(*localFile) bool {
	now, err := p.r.find(p.attempt)
	if err != nil || (now.Live && newerThan(now.Segments, p.number) < 0) {
		return false // the next read gives the error
	}
	p.next = &now
	return true
}

// find looks what a live attempt is now. Between its capture and its record it
// waits, and gives an attempt without segments if there comes none.
func (r *reading) find(a *Attempt) (Attempt, error) {
	if !a.Live {
		return *a, nil
	}
	for waited := time.Duration(0); ; waited += r.period {
		if now, err := readLive(r.ctx, r.files, a.ContainerID); err == nil {
			return live(now), nil
		}
		if found, ok := recorded(r.ctx, r.files, *a); ok {
			return found, nil
		}
		if r.far.lost != nil {
			return Attempt{}, r.far.lost
		}
		if waited > recordWait {
			return a.gone(), nil
		}
		if err := r.pause(); err != nil {
			return Attempt{}, err
		}
	}
}

// gone is an attempt of which nothing is left.
func (a *Attempt) gone() Attempt {
	gone := *a
	gone.Live, gone.Segments, gone.Gaps = false, nil, nil
	return gone
}

// newerThan is the index of the first segment behind segment n; -1 if there is
// none.
func newerThan(segments []record.Segment, n int) int {
	return slices.IndexFunc(segments, func(s record.Segment) bool {
		m, _, _ := record.ParseSegment(s.Name)
		return m > n
	})
}

// pollSpan writes one span of another machine. With a growth, it reads on until
// that says that nothing more is written.
func (r *reading) pollSpan(i int, s span, p *polled, grows *growth) error {
	if err := p.open(); err != nil && (grows == nil || !errors.Is(err, fs.ErrNotExist)) {
		return r.cannot(s, err)
	}
	src := io.Reader(p)
	switch {
	case grows != nil:
		grows.src, src = p, grows
	case s.to >= 0:
		src = io.LimitReader(p, max(s.to-p.at, 0))
	}
	return r.text(i, s, newLines(r.ctx, src, r.buf, p.at), grows != nil)
}
