package logretention

import (
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/safelink"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

const (
	// mostPending logs of unknown containers are held open at a time, each in
	// at most pendingFiles files (it may be rotated meanwhile).
	mostPending  = 64
	pendingFiles = 4
	// pendingTime is how long: a look follows within seconds.
	pendingTime = 2 * time.Minute
)

// pending holds logs open that appeared before anybody said whose they are, so
// that a container that dies and is removed at once still has its log.
type pending struct {
	clock  node.Clock
	byPath map[string]*held
}

type held struct {
	since   time.Duration
	sources []*safelink.Source
}

func newPending(clock node.Clock) *pending {
	return &pending{clock: clock, byPath: map[string]*held{}}
}

// hold takes a source over. False means that it is known, or one too many: it
// has been closed. What nobody has claimed for longest makes room.
func (p *pending) hold(path string, src *safelink.Source) bool {
	h := p.byPath[path]
	if h == nil {
		if len(p.byPath) >= mostPending {
			p.forget(p.oldest())
		}
		h = &held{since: p.clock.Now().Boot}
		p.byPath[path] = h
	}
	for _, s := range h.sources {
		if inodeOf(s) == inodeOf(src) {
			_ = src.Close()
			return false
		}
	}
	if len(h.sources) >= pendingFiles {
		_ = src.Close()
		return false
	}
	h.sources = append(h.sources, src)
	return true
}

// take gives the sources of a path away, oldest first; the caller closes them.
func (p *pending) take(path string) []*safelink.Source {
	h := p.byPath[path]
	if h == nil {
		return nil
	}
	delete(p.byPath, path)
	return h.sources
}

// expire lets go of what nobody has claimed, and of what drop wants to.
func (p *pending) expire(drop func(path string) bool) {
	now := p.clock.Now().Boot
	for path, h := range p.byPath {
		if now-h.since > pendingTime || drop(path) {
			p.forget(path)
		}
	}
}

func (p *pending) oldest() (path string) {
	for candidate, h := range p.byPath {
		if path == "" || h.since < p.byPath[path].since {
			path = candidate
		}
	}
	return path
}

func (p *pending) forget(path string) {
	for _, s := range p.take(path) {
		_ = s.Close()
	}
}

func (p *pending) close() {
	for path := range p.byPath {
		p.forget(path)
	}
}

// inode tells files apart.
type inode struct{ dev, ino uint64 }

func inodeOf(src *safelink.Source) inode {
	s := src.Stat()
	return inode{s.Dev, s.Ino}
}
