package reader

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
)

// maxApart is how far before the other records the beginning of a line is
// looked for. Without it, the one line that a stream has ever had would cost a
// tail the whole log.
const maxApart = 1 << 20

// tail finds the beginning of the last lines, going backwards from span to span.
// A line is where its last record is: the last n lines are those that were
// finished last.
type tail struct {
	opts  Options
	left  int64 // lines that are still to be found
	start start
	lines [damaged]tailLine
}

// tailLine is what is known of a stream from what comes later in the log.
type tailLine struct {
	// seen is set if there is a later record that a part could belong to.
	seen bool
	// open is set if the earliest line that is wanted may begin still earlier.
	open bool
	// apart counts bytes since its earliest record so far.
	apart int64
}

func findTail(ctx context.Context, files Files, spans []span, lines int64, o Options) (start, error) {
	t := &tail{opts: o, left: lines, start: start{set: true}}
	for i := range t.start.at {
		t.start.at[i] = position{span: len(spans)}
	}
	for i := len(spans) - 1; i >= 0; i-- {
		if err := ctx.Err(); err != nil {
			return start{}, err
		}
		follows := o.Follow && i == len(spans)-1 && spans[i].newest()
		if t.done() && !follows {
			break
		}
		// What cannot be read is marked when it is written; here it only parts
		// lines.
		if err := t.span(ctx, files, i, spans[i], follows); err != nil || spans[i].fresh {
			t.lines = [damaged]tailLine{}
		}
	}
	return t.start, nil
}

func (t *tail) done() bool { return t.left == 0 && !t.lines[stdout].open && !t.lines[stderr].open }

func (t *tail) span(ctx context.Context, files Files, i int, s span, follows bool) error {
	if s.segment == len(s.attempt.Segments) {
		return nil
	}
	text, err := openText(ctx, files, s)
	if err != nil {
		return err
	}
	defer text.Close()
	if text.at == nil {
		src, err := text.slice(s.from, s.to)
		if err != nil {
			return err
		}
		return t.forwards(i, s, newLines(ctx, src, make([]byte, readSize), s.from))
	}
	end := text.size
	if s.to >= 0 {
		end = min(s.to, end)
	}
	b := &backwards{at: text.at, from: min(s.from, end), end: end}
	if follows {
		// The line that is being written belongs to what is to come.
		if b.end, err = b.whole(); err != nil {
			return err
		}
		for k := range t.start.at {
			t.start.at[k] = position{i, b.end}
		}
	}
	return t.backwards(ctx, i, s, b)
}

func (t *tail) backwards(ctx context.Context, i int, s span, b *backwards) error {
	for n := 0; !t.done(); n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		line, offset, whole, err := b.prev()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(line) == 0 || line[0] == '\n' {
			continue
		}
		e := parse(line)
		if e.stream == damaged && s.newest() && !whole {
			continue
		}
		t.record(&e, position{i, offset}, int64(len(line)))
	}
	return nil
}

// record takes the record before those it has taken so far.
func (t *tail) record(e *entry, at position, size int64) {
	for k := range t.lines {
		l := &t.lines[k]
		if l.apart += size; l.apart > maxApart && stream(k) != e.stream {
			l.open = false
		}
	}
	if !t.opts.wants(e.stream) {
		return
	}
	if e.stream == damaged {
		if t.left > 0 {
			t.left--
			t.start.at[damaged] = at
		}
		return
	}
	l := &t.lines[e.stream]
	if !l.seen || !e.partial {
		l.open = t.left > 0 && t.until(e)
		if l.open {
			t.left--
		}
	}
	l.seen, l.apart = true, 0
	if l.open {
		t.start.at[e.stream] = at
	}
}

func (t *tail) until(e *entry) bool { return t.opts.Until.IsZero() || !e.after(t.opts.Until) }

// finish is where a line ends: its last record.
type finish struct {
	offset, end int64
	stream      stream
}

// forwards finds the same in a text that can only be read from its beginning. It
// keeps the places of the last lines.
func (t *tail) forwards(i int, s span, l *lines) error {
	ring := newRing(t.left)
	// last are the last records of the streams, parts those that are not the
	// end of a line.
	var last, parts [damaged]*finish
	var e entry
	var at int64
	for {
		p, err := l.next()
		if err != nil {
			break
		}
		if p.first {
			if at = p.offset; len(p.data) == 0 || p.data[0] == '\n' {
				continue
			}
			e = parse(p.data)
		}
		if !p.last || !t.opts.wants(e.stream) {
			continue
		}
		f := finish{at, l.offset, e.stream}
		if e.stream == damaged {
			if !s.newest() || p.data[len(p.data)-1] == '\n' {
				ring.push(f)
			}
			continue
		}
		last[e.stream], parts[e.stream] = &f, nil
		switch {
		case e.partial:
			parts[e.stream] = &f
		case t.until(&e):
			ring.push(f)
		}
	}
	for k, f := range parts {
		if f != nil && !t.lines[k].seen {
			ring.insert(*f)
		}
	}
	ring.trim()
	t.take(i, s, ring, last)
	return l.broken()
}

// take wants what is left in the ring, and the beginnings of later lines.
func (t *tail) take(i int, s span, r *ring, last [damaged]*finish) {
	t.left -= int64(len(r.kept))
	if r.holds(damaged) {
		t.start.at[damaged] = position{i, max(s.from, r.dropped[damaged])}
	}
	for k := range t.lines {
		l, dropped := &t.lines[k], r.dropped[k]
		if last[k] == nil {
			continue
		}
		wanted := l.open || r.holds(stream(k))
		if wanted && last[k].offset >= dropped {
			t.start.at[k] = position{i, max(s.from, dropped)}
		}
		l.open = wanted && dropped < 0
		l.seen, l.apart = true, 0
	}
}

// ring keeps the last lines of a text, and for each stream the end of the last
// one that it dropped.
type ring struct {
	most    int64
	kept    []finish
	dropped [streams]int64
}

func newRing(most int64) *ring { return &ring{most: most, dropped: [streams]int64{-1, -1, -1}} }

func (r *ring) push(f finish) {
	r.kept = append(r.kept, f)
	if int64(len(r.kept)) > 2*min(r.most, 1<<40)+64 {
		r.trim()
	}
}

func (r *ring) trim() {
	over := int64(len(r.kept)) - r.most
	if over <= 0 {
		return
	}
	for _, f := range r.kept[:over] {
		r.dropped[f.stream] = f.end
	}
	r.kept = append(r.kept[:0], r.kept[over:]...)
}

// insert adds a line out of order.
func (r *ring) insert(f finish) {
	r.kept = append(r.kept, f)
	slices.SortFunc(r.kept, func(a, b finish) int { return cmp.Compare(a.offset, b.offset) })
}

func (r *ring) holds(s stream) bool {
	return slices.ContainsFunc(r.kept, func(f finish) bool { return f.stream == s })
}
