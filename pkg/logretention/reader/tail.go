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
	if follows {
		t.begin(position{i, s.from})
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
		r, err := t.forwards(s, newLines(ctx, src, make([]byte, readSize), s.from), follows)
		if follows {
			t.begin(position{i, r.end})
		}
		t.take(i, r)
		return err
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
		t.begin(position{i, b.end})
	}
	return t.backwards(ctx, i, s, b)
}

// begin wants what comes at a position, and nothing before it.
func (t *tail) begin(at position) {
	for k := range t.start.at {
		t.start.at[k] = at
	}
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

// finish is where a line ends, its last record, and where it begins, as far as
// this text tells.
type finish struct {
	begin, offset int64
	stream        stream
}

// forwards finds the same in a text that can only be read from its beginning. It
// keeps the places of the last lines. Where it follows, the line that is being
// written belongs to what is to come.
func (t *tail) forwards(s span, l *lines, follows bool) (*ring, error) {
	r := &ring{most: t.left, end: s.from}
	var e entry
	var f finish
	for {
		p, err := l.next()
		if err != nil {
			break
		}
		whole := p.last && len(p.data) > 0 && p.data[len(p.data)-1] == '\n'
		if whole {
			r.end = p.offset + int64(len(p.data))
		}
		if p.first {
			if len(p.data) == 0 || p.data[0] == '\n' {
				continue
			}
			e = parse(p.data)
			f = finish{p.offset, p.offset, e.stream}
		}
		switch {
		case !p.last || !t.opts.wants(e.stream) || (follows && !whole):
		case e.stream != damaged:
			r.record(f, e.partial, t.until(&e))
		case !s.newest() || whole:
			r.push(f)
		}
	}
	for k, f := range r.part {
		if f != nil && !t.lines[k].seen {
			r.insert(*f)
		}
	}
	r.trim()
	return r, l.broken()
}

// take wants what is left in the ring, and the beginnings of later lines.
func (t *tail) take(i int, r *ring) {
	t.left -= int64(len(r.kept))
	if f := r.earliest(damaged); f != nil {
		t.start.at[damaged] = position{i, f.begin}
	}
	for k := range t.lines {
		l := &t.lines[k]
		if r.first[k] == nil {
			continue
		}
		f := r.earliest(stream(k))
		if f == nil && l.open {
			f = r.part[k]
		}
		if f != nil {
			t.start.at[k] = position{i, f.begin}
		}
		l.open = f != nil && f.begin == r.first[k].begin
		l.seen, l.apart = true, 0
	}
}

// ring keeps the last lines of a text.
type ring struct {
	most int64
	kept []finish
	// end is where the last whole line ends.
	end int64
	// first are the first records of the streams, part the lines that have
	// not ended.
	first, part [damaged]*finish
}

// record takes the next record of a stream.
func (r *ring) record(f finish, partial, wanted bool) {
	if part := r.part[f.stream]; part != nil {
		f.begin = part.begin
	}
	if r.first[f.stream] == nil {
		first := f
		r.first[f.stream] = &first
	}
	r.part[f.stream] = nil
	switch {
	case partial:
		r.part[f.stream] = &f
	case wanted:
		r.push(f)
	}
}

func (r *ring) push(f finish) {
	r.kept = append(r.kept, f)
	if int64(len(r.kept)) > 2*min(r.most, 1<<40)+64 {
		r.trim()
	}
}

func (r *ring) trim() {
	if over := int64(len(r.kept)) - r.most; over > 0 {
		r.kept = append(r.kept[:0], r.kept[over:]...)
	}
}

// insert adds a line out of order.
func (r *ring) insert(f finish) {
	r.kept = append(r.kept, f)
	slices.SortFunc(r.kept, func(a, b finish) int { return cmp.Compare(a.offset, b.offset) })
}

func (r *ring) earliest(s stream) *finish {
	i := slices.IndexFunc(r.kept, func(f finish) bool { return f.stream == s })
	if i < 0 {
		return nil
	}
	return &r.kept[i]
}
