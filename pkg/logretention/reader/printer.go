package reader

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"time"
)

// maxHeld bounds what is kept of one stream while a line of the other is not
// finished.
const maxHeld = 16 << 20

// errLimit ends the output at LimitBytes.
var errLimit = errors.New("limit of bytes reached")

// printer makes lines of records. A line is written as its parts come. What the
// other stream writes meanwhile waits for its end, so that each line is whole
// and lines stand in the order of their beginnings.
type printer struct {
	w    *bufio.Writer
	opts Options
	from time.Time // lines before this are left out

	remain int64 // bytes left of LimitBytes
	ragged bool  // the output does not end in a newline
	prefix []byte
	space  []byte
	line   [damaged]lineState
	// current is the stream whose line is being written, streams if none.
	current stream
	// last is the time of the last record, for damaged lines.
	last stamp
	seen bool
	torn bool // within a damaged line that came in pieces
}

// lineState is one stream's unfinished line.
type lineState struct {
	open, shown bool
	// held is finished output that waits for the other stream's line.
	held []byte
}

func newPrinter(w io.Writer, opts Options) *printer {
	p := &printer{w: bufio.NewWriterSize(w, readSize), opts: opts, from: opts.from(), remain: 1<<63 - 1, current: streams}
	if opts.LimitBytes != nil {
		p.remain = *opts.LimitBytes
	}
	return p
}

// record writes one record, or a piece of it; more is set if the rest of the
// record comes with the next call. A record of a line that has not begun begins
// it.
func (p *printer) record(e *entry, more bool) error {
	if e.stream == damaged {
		return p.damage(e.text, more)
	}
	p.last, p.seen = e.stamp, true
	l := &p.line[e.stream]
	begins := !l.open
	if begins {
		l.shown = p.shows(e.stamp)
	}
	l.open = e.partial || more
	if !l.shown || !p.opts.wants(e.stream) {
		return nil
	}
	if p.current != streams && p.current != e.stream {
		return p.hold(l, e, begins)
	}
	if begins {
		if err := p.begin(e.stamp); err != nil {
			return err
		}
	}
	if err := p.write(e.text); err != nil {
		return err
	}
	if l.open {
		p.current = e.stream
		return nil
	}
	if p.current == streams {
		return nil
	}
	return p.release()
}

func (p *printer) shows(s stamp) bool {
	return (p.from.IsZero() || !s.before(p.from)) && (p.opts.Until.IsZero() || !s.after(p.opts.Until))
}

// begin starts a line of the output.
func (p *printer) begin(s stamp) error {
	if err := p.straighten(); err != nil {
		return err
	}
	if !p.opts.Prefix && !p.opts.Timestamps {
		return nil
	}
	p.space = p.lead(p.space[:0], s)
	return p.write(p.space)
}

func (p *printer) lead(dst []byte, s stamp) []byte {
	if p.opts.Prefix {
		dst = append(dst, p.prefix...)
	}
	if p.opts.Timestamps {
		dst = append(s.appendFixed(dst), ' ')
	}
	return dst
}

// hold keeps a record until the other stream's line is finished.
func (p *printer) hold(l *lineState, e *entry, begins bool) error {
	if begins {
		if n := len(l.held); n > 0 && l.held[n-1] != '\n' {
			l.held = append(l.held, '\n')
		}
		l.held = p.lead(l.held, e.stamp)
	}
	l.held = append(l.held, e.text...)
	if len(l.held) <= maxHeld {
		return nil
	}
	if err := p.damageMark("the line above is not finished; it goes on below"); err != nil {
		return err
	}
	return p.interrupt()
}

// interrupt gives up waiting for the end of the current line. What is left of it
// becomes a line of its own.
func (p *printer) interrupt() error {
	if p.current == streams || len(p.line[1-p.current].held) == 0 {
		return nil
	}
	p.line[p.current].open = false
	return p.release()
}

// release writes what waited for the current line.
func (p *printer) release() error {
	other := 1 - p.current
	p.current = streams
	l := &p.line[other]
	if len(l.held) == 0 {
		return nil
	}
	if err := p.straighten(); err != nil {
		return err
	}
	err := p.write(l.held)
	if cap(l.held) > readSize {
		l.held = nil
	}
	l.held = l.held[:0]
	if l.open && l.shown {
		p.current = other
	}
	return err
}

// reset ends all lines: nothing that follows is a part of them.
func (p *printer) reset() error {
	err := p.interrupt()
	for i := range p.line {
		p.line[i].open = false
	}
	p.current, p.torn, p.seen = streams, false, false
	return err
}

// damage shows a line that is no record, with the time of the record before. A
// line that it comes in the middle of goes on after it.
func (p *printer) damage(text []byte, more bool) error {
	begins := !p.torn
	p.torn = more
	if !p.showsDamage() {
		return nil
	}
	if begins {
		if err := p.straighten(); err != nil {
			return err
		}
		if _, err := p.w.WriteString("--- nodekeeper: not a log record: "); err != nil {
			return err
		}
	}
	if err := p.write(text); err != nil || more {
		return err
	}
	return p.straighten()
}

// zeros shows where blocks of a file never reached the disk.
func (p *printer) zeros(n int64) error {
	if !p.showsDamage() {
		return nil
	}
	return p.damageMark(fmt.Sprintf("%d NUL bytes here", n))
}

func (p *printer) showsDamage() bool {
	if !p.seen {
		return p.from.IsZero()
	}
	return p.shows(p.last)
}

// mark shows what was declared, if that is wanted.
func (p *printer) mark(line string) error {
	if !p.opts.Headers {
		return nil
	}
	return p.damageMark(line)
}

// damageMark shows a line of ours wherever the output is.
func (p *printer) damageMark(line string) error {
	if p.opts.Raw && !p.opts.Headers {
		return nil
	}
	if err := p.straighten(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(p.w, "--- nodekeeper: %s ---\n", oneLine(line))
	return err
}

// straighten begins a new line of the output.
func (p *printer) straighten() error {
	if !p.ragged {
		return nil
	}
	p.ragged = false
	return p.w.WriteByte('\n')
}

// write counts. The newlines that it does not see are ours.
func (p *printer) write(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	if int64(len(text)) > p.remain {
		text = text[:p.remain]
	}
	n, err := p.w.Write(text)
	p.remain -= int64(n)
	p.ragged = text[len(text)-1] != '\n'
	if err == nil && p.remain <= 0 {
		err = errLimit
	}
	return err
}

func (p *printer) flush() error { return p.w.Flush() }

// raw passes a piece of a segment on as it is.
func (p *printer) raw(piece piece) error {
	var block [4096]byte
	for n := piece.zeros; n > 0; {
		part := block[:min(n, int64(len(block)))]
		if err := p.write(part); err != nil {
			return err
		}
		n -= int64(len(part))
	}
	return p.write(piece.data)
}

// idle shows what there is, while a log is being followed and nothing comes.
func (p *printer) idle() error {
	if err := p.interrupt(); err != nil {
		return err
	}
	return p.flush()
}
