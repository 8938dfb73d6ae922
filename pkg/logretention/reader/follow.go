package reader

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

const (
	// followPeriod is how often a growing file of this machine is looked at. Looking costs two
	// system calls; a watch would have to be told of each rotation.
	followPeriod = 100 * time.Millisecond
	// recordWait bounds the time between the end of a capture and its record.
	recordWait = 5 * time.Second
	// reopenWait bounds the time between the two halves of a rotation.
	reopenWait = 15 * time.Second
)

// growth reads a file to its end again and again, until it is certain that
// nothing more is written to it.
type growth struct {
	r    *reading
	src  io.Reader
	file *localFile
	// over tells whether nothing more is written to the file.
	over  func(file *localFile) bool
	ended bool
	// polled is set instead of file for a file of another machine.
	polled *polled
}

func (g *growth) of(src io.Reader, t *text) io.Reader {
	g.src, g.file = src, t.local
	return g
}

// Read blocks until there is more, the file is over or the context ends.
func (g *growth) Read(p []byte) (int, error) {
	for {
		n, err := g.src.Read(p)
		if n > 0 {
			return n, nil // even where the end was seen behind it
		}
		if !errors.Is(err, io.EOF) || g.ended {
			return 0, err
		}
		if g.r.failed = g.r.p.idle(); g.r.failed != nil {
			return 0, g.r.failed
		}
		// The last bytes may have been written between the two looks.
		if (g.file == nil && g.polled == nil) || g.over(g.file) {
			g.ended = true
			continue
		}
		if err := g.r.wait(); err != nil {
			return 0, err
		}
	}
}

func (r *reading) wait() error {
	timer := time.NewTimer(r.period)
	defer timer.Stop()
	select {
	case <-r.ctx.Done():
		return r.ctx.Err()
	case <-timer.C:
		return nil
	}
}

// pause shows what there is, and waits.
func (r *reading) pause() error {
	if r.failed = r.p.idle(); r.failed != nil {
		return r.failed
	}
	return r.wait()
}

// follow writes the newest segment of a live attempt and what is written after
// it.
func (r *reading) follow(i int, s span) error {
	if s.attempt.Birth == nil {
		return r.followPodLog(i, s)
	}
	for {
		n, _, _ := record.ParseSegment(s.attempt.Segments[s.segment].Name)
		next, err := r.segmentWhole(i, s, n)
		if err != nil || next == nil {
			return err
		}
		from := len(next.Segments)
		if k := newerThan(next.Segments, n); k >= 0 {
			from = k
		}
		spans := spansOf(next, from)
		var last *span
		for k := range spans {
			i++
			if next.Live && k == len(spans)-1 && spans[k].newest() {
				last = &spans[k]
				break
			}
			if err := r.span(i, spans[k], nil); err != nil {
				return err
			}
		}
		switch {
		case last != nil:
			s = *last
		case next.Live:
			// Its newest segment went away without a successor.
			return r.p.mark("no more is captured of " + next.Identity())
		case next.Meta == nil:
			return r.p.mark("the capture of " + next.Identity() + " is gone, and there is no record of it")
		default:
			if err := r.p.reset(); err != nil {
				return err
			}
			return r.p.mark("ended: " + Ending(next.Meta))
		}
	}
}

// segmentWhole writes segment n of a live attempt until nothing more is written
// to it, and gives what the attempt has become by then; nil if it is out of
// reach.
func (r *reading) segmentWhole(i int, s span, n int) (*Attempt, error) {
	g := &growth{r: r, over: func(*localFile) bool { return r.captureMoved(s.attempt.Path, n) }}
	if r.far != nil {
		g.polled = r.poll(s, max(s.from, r.start.offset(i)))
		g.over = g.polled.over
	}
	if err := r.span(i, s, g); err != nil {
		return nil, err
	}
	if r.far != nil {
		return g.polled.next, nil
	}
	next, err := r.successor(s.attempt)
	return &next, err
}

// captureMoved tells whether a live attempt has a newer segment than n, or is
// live no more.
func (r *reading) captureMoved(dir string, n int) bool {
	names, err := r.local.List(r.ctx, dir)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	born := slices.Contains(names, record.BirthFile)
	return !born || slices.ContainsFunc(names, func(name string) bool {
		m, _, ok := record.ParseSegment(name)
		return ok && m > n
	})
}

// successor is what a live attempt has become.
func (r *reading) successor(a *Attempt) (Attempt, error) {
	for waited := time.Duration(0); ; waited += followPeriod {
		if now, err := readLive(r.ctx, r.files, a.ContainerID); err == nil {
			return live(now), nil
		}
		if found, ok := recorded(r.ctx, r.files, *a); ok {
			return found, nil
		}
		if waited > recordWait {
			return a.gone(), nil
		}
		if err := r.wait(); err != nil {
			return Attempt{}, err
		}
	}
}

// followPodLog follows one of the kubelet's own files. Rotation puts another
// file in its place; the attempt has ended when the next one has a file, or when
// there is none any more.
func (r *reading) followPodLog(i int, s span) error {
	name := path.Join(s.attempt.Path, s.attempt.Segments[s.segment].Name)
	attempt := s.attempt.Attempt.Attempt
	for {
		rotated := false
		var missing time.Duration
		g := &growth{r: r, over: func(file *localFile) bool {
			same, err := r.local.same(name, *file)
			if err == nil && !same {
				rotated = true
				return true
			}
			if err == nil {
				missing = 0
				return r.podLogAfter(s.attempt.Path, attempt)
			}
			missing += followPeriod
			_, dirErr := r.local.List(r.ctx, s.attempt.Path)
			return errors.Is(dirErr, fs.ErrNotExist) || missing > reopenWait
		}}
		if err := r.span(i, s, g); err != nil || !rotated {
			return err
		}
		s.fresh, s.marks = false, nil
		i++
	}
}

func (r *reading) podLogAfter(dir string, attempt uint32) bool {
	names, err := r.local.List(r.ctx, dir)
	return err == nil && slices.ContainsFunc(names, func(name string) bool {
		n, ok := podLogNumber(name)
		return ok && n > attempt
	})
}
