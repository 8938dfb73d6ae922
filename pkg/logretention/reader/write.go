package reader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Write writes the logs of attempts, one after the other, in one pass and in
// constant memory. What cannot be read is marked and skipped, and is the error
// at the end; an error of w ends the output at once.
func Write(ctx context.Context, w io.Writer, files Files, attempts []Attempt, o Options) error {
	if err := o.check(); err != nil {
		return err
	}
	local, isLocal := files.(*Dir)
	r := &reading{ctx: ctx, files: files, local: local, p: newPrinter(w, o), buf: make([]byte, readSize), period: followPeriod}
	if o.Follow && !isLocal {
		r.period = cmp.Or(o.Poll, pollPeriod)
		r.far = &patient{Files: files, say: o.notice, period: r.period, pause: r.pause}
		r.files = r.far
	}
	now := make([]Attempt, len(attempts))
	for i, a := range attempts {
		now[i] = refresh(ctx, r.files, a)
	}
	err := r.all(now)
	if err == nil {
		err = r.p.reset()
	}
	if errors.Is(err, errLimit) {
		err = nil
	}
	return errors.Join(err, r.p.flush(), r.damage())
}

// reading is one call of Write.
type reading struct {
	ctx   context.Context
	files Files
	local *Dir
	// far are the files while a log of another machine is followed.
	far    *patient
	period time.Duration // between two looks at a growing file
	p      *printer
	buf    []byte
	// start is where each stream's lines begin that are wanted.
	start start
	// failed is an error of w while a log was being followed.
	failed error
	// unread are the segments that could not be read.
	unread []error
}

func (r *reading) all(attempts []Attempt) error {
	spans := layOut(attempts)
	if tail := r.p.opts.Tail; tail != nil {
		var err error
		if r.start, err = findTail(r.ctx, r.files, spans, *tail, r.p.opts); err != nil {
			return err
		}
	}
	first := 0
	if r.start.set {
		first = r.start.earliest().span
	}
	for i, s := range spans {
		if i < first {
			continue
		}
		if i == first && len(s.marks) == 0 {
			s.marks = []string{s.attempt.Title()}
		}
		if r.p.opts.Follow && i == len(spans)-1 && s.newest() {
			return r.follow(i, s)
		}
		if err := r.span(i, s, nil); err != nil {
			return err
		}
	}
	return nil
}

// span writes one span. With a growth, it reads on until that says that nothing
// more is written.
func (r *reading) span(i int, s span, grows *growth) error {
	if err := r.before(s); err != nil || s.segment == len(s.attempt.Segments) {
		return err
	}
	from := max(s.from, r.start.offset(i))
	if r.far != nil {
		p := r.poll(s, from)
		if grows != nil {
			p = grows.polled
		}
		defer p.Close()
		return r.pollSpan(i, s, p, grows)
	}
	t, err := openText(r.ctx, r.files, s)
	if err != nil {
		return r.cannot(s, err)
	}
	defer t.Close()
	src, err := t.slice(from, s.to)
	if err != nil {
		return r.cannot(s, err)
	}
	if grows != nil {
		src = grows.of(src, t)
	}
	return r.text(i, s, newLines(r.ctx, src, r.buf, from), grows != nil)
}

// before writes what stands before a span.
func (r *reading) before(s span) error {
	if s.fresh {
		if err := r.p.reset(); err != nil {
			return err
		}
	}
	r.p.prefix = append(r.p.prefix[:0], "["+s.attempt.Identity()+"] "...)
	for _, m := range s.marks {
		if err := r.p.mark(m); err != nil {
			return err
		}
	}
	return nil
}

// text writes the lines of a span.
func (r *reading) text(i int, s span, l *lines, follows bool) error {
	var e entry
	wanted := true
	for {
		p, err := l.next()
		if err != nil {
			return r.ended(s, l)
		}
		if r.p.opts.Raw {
			if err := r.p.raw(p); err != nil {
				return err
			}
			continue
		}
		if p.zeros > 0 {
			if err := r.p.zeros(p.zeros); err != nil {
				return err
			}
		}
		switch {
		case !p.first:
			e.continues(p.data, p.last)
		case len(p.data) == 0 || p.data[0] == '\n':
			continue
		default:
			e = parse(p.data)
			wanted = r.start.wants(e.stream, i, p.offset)
			// The runtime may be just about to write the rest.
			if e.stream == damaged && s.newest() && !follows && p.last && p.data[len(p.data)-1] != '\n' {
				continue
			}
		}
		if !wanted {
			continue
		}
		if err := r.p.record(&e, !p.last); err != nil {
			return err
		}
	}
}

// continues makes an entry of another piece of the same line.
func (e *entry) continues(data []byte, last bool) {
	if n := len(data); last && e.partial && n > 0 && data[n-1] == '\n' {
		data = data[:n-1]
	}
	e.text = data
}

// ended says why a span has no more lines.
func (r *reading) ended(s span, l *lines) error {
	if r.failed != nil {
		return r.failed
	}
	if err := r.ctx.Err(); err != nil {
		return err
	}
	if err := l.broken(); err != nil {
		return r.cannot(s, err)
	}
	return nil
}

// cannot marks a segment, or the rest of it, as unreadable.
func (r *reading) cannot(s span, err error) error {
	if ctxErr := r.ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	segment := s.attempt.Segments[s.segment]
	err = fmt.Errorf("%s of %s: %w", segment.Name, s.attempt.Identity(), err)
	r.unread = append(r.unread, err)
	if err := r.p.reset(); err != nil {
		return err
	}
	return r.p.damageMark(fmt.Sprintf("cannot be read from here on: %v", err))
}

func (r *reading) damage() error {
	const most = 5
	if n := len(r.unread); n > most {
		return errors.Join(append(r.unread[:most:most], fmt.Errorf("and %d more", n-most))...)
	}
	return errors.Join(r.unread...)
}
