package reader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"
)

const (
	// pollPeriod is how often a log of another machine is asked for.
	pollPeriod = 1500 * time.Millisecond
	// outageWait bounds how long another machine may be out of reach while its
	// log is followed: a cluster of one node has no API server for minutes when
	// that is rolled out, and refuses everybody when it begins to answer.
	outageWait = 15 * time.Minute
)

// Resumer are Files that can open a file at a position. At the end of the file
// and behind it there is nothing to read, which is no error.
type Resumer interface {
	OpenFrom(ctx context.Context, name string, from int64) (io.ReadCloser, error)
}

// openFrom opens a file at a position.
func openFrom(ctx context.Context, files Files, name string, from int64) (io.ReadCloser, error) {
	if r, ok := files.(Resumer); ok {
		return r.OpenFrom(ctx, name, from)
	}
	file, err := files.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	if _, err := io.CopyN(io.Discard, file, from); err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// patient are Files of another machine that may be out of reach for a while.
// Every error but fs.ErrNotExist is taken for that. One goroutine at a time may
// use them.
type patient struct {
	Files
	// say tells people what keeps the output from going on.
	say func(text string)
	// pause waits for a period.
	pause  func() error
	period time.Duration
	// waited is how long the present outage has lasted.
	waited time.Duration
	// lost is set once it has lasted too long.
	lost error
}

func (p *patient) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	return p.insist(ctx, func() (io.ReadCloser, error) { return p.Files.Open(ctx, name) })
}

// OpenFrom opens a file at a position, for reading that goes on after an outage
// where it ended.
func (p *patient) OpenFrom(ctx context.Context, name string, from int64) (io.ReadCloser, error) {
	f := &resumed{ctx: ctx, of: p, name: name, at: from}
	return f, f.open()
}

func (p *patient) insist(ctx context.Context, open func() (io.ReadCloser, error)) (io.ReadCloser, error) {
	for {
		if p.lost != nil {
			return nil, p.lost
		}
		file, err := open()
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			p.reached()
			return file, err
		}
		if err := p.endure(ctx, err); err != nil {
			return nil, err
		}
	}
}

func (p *patient) reached() {
	if p.waited > 0 {
		p.waited = 0
		p.say("reached again, going on")
	}
}

// endure waits before the next try. Its error is that there is none.
func (p *patient) endure(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case p.waited == 0:
		p.say(fmt.Sprintf("waiting, up to %s: %v", outageWait, err))
	case p.waited >= outageWait:
		p.lost = fmt.Errorf("given up after %s: %w", outageWait, err)
		return p.lost
	}
	p.waited += p.period
	return p.pause()
}

// resumed is a file that is opened again where reading it failed.
type resumed struct {
	ctx  context.Context
	of   *patient
	name string
	at   int64
	file io.ReadCloser // nil if it must be opened again
}

func (f *resumed) open() (err error) {
	f.file, err = f.of.insist(f.ctx, func() (io.ReadCloser, error) { return openFrom(f.ctx, f.of.Files, f.name, f.at) })
	return err
}

func (f *resumed) Read(b []byte) (int, error) {
	for {
		if f.file == nil {
			if err := f.open(); err != nil {
				return 0, err
			}
		}
		n, err := f.file.Read(b)
		f.at += int64(n)
		if n > 0 || err == nil {
			return n, nil // an error comes again
		}
		if errors.Is(err, io.EOF) {
			return 0, io.EOF
		}
		_ = f.Close() // it has failed already
		if err := f.of.endure(f.ctx, err); err != nil {
			return 0, err
		}
	}
}

// Close closes what is open.
func (f *resumed) Close() error {
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	f.file = nil
	return err
}
