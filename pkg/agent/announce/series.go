package announce

import (
	"fmt"
	"time"
)

const (
	// most series are known at a time; what does not fit is not told.
	most = 64
	// seriesEvery is the time between two writes about one series, so that a
	// crash loop costs one request a minute at most.
	seriesEvery = time.Minute
	// remembered is how long a series goes on, and how long it waits for the API
	// server: by default that keeps events for an hour.
	remembered = time.Hour
)

// series is one Event object, which counts.
type series struct {
	event
	name        string
	first, last time.Time
	// count is how often it happened, told how often the API server knows of.
	count, told int
	due         time.Time
}

// book is all series. It has no lock.
type book struct {
	series map[subject]*series
	order  []*series // oldest first
}

// add enters an event, and tells whether there was room.
func (b *book) add(e event, now time.Time) bool {
	b.forget(now)
	s := b.series[e.subject]
	if s == nil {
		if len(b.order) >= most {
			return false
		}
		s = &series{due: now, first: now}
		if b.series == nil {
			b.series = map[subject]*series{}
		}
		b.series[e.subject] = s
		b.order = append(b.order, s)
	}
	s.event, s.last, s.count = e, now, s.count+1
	return true
}

// forget drops series that have been quiet for long, told or not.
func (b *book) forget(now time.Time) {
	kept := b.order[:0]
	for _, s := range b.order {
		if now.Sub(s.last) < remembered {
			kept = append(kept, s)
			continue
		}
		delete(b.series, s.subject)
	}
	clear(b.order[len(kept):])
	b.order = kept
}

// next is a copy of a series that is to be written now, or when the first will
// be.
func (b *book) next(now time.Time) (s *series, at time.Time) {
	b.forget(now)
	for _, s := range b.order {
		switch {
		case s.told == s.count:
		case !s.due.After(now):
			out := *s
			if out.name == "" {
				out.name = nameFor(out)
			}
			return &out, now
		case at.IsZero() || s.due.Before(at):
			at = s.due
		}
	}
	return nil, at
}

// nameFor is as client-go has it, with the time in nanoseconds.
func nameFor(s series) string {
	about := s.Pod
	if about == "" {
		about = component
	}
	if len(about) > 230 {
		about = about[:230]
	}
	return fmt.Sprintf("%s.%x", about, s.last.UnixNano())
}

// wrote notes that the API server knows of a series as the copy says.
func (b *book) wrote(copy *series, now time.Time) {
	if s := b.series[copy.subject]; s != nil {
		s.name, s.told, s.due = copy.name, copy.count, now.Add(seriesEvery)
	}
}

// lost notes that the API server has no such Event any more, if it had one: the
// next one is a new one.
func (b *book) lost(copy *series) {
	if s := b.series[copy.subject]; s != nil {
		s.name, s.first, s.count, s.told = "", s.last, s.count-s.told, 0
	}
}

// drop forgets a series that the API server does not take.
func (b *book) drop(copy *series) {
	if s := b.series[copy.subject]; s != nil {
		s.told = s.count
	}
}
