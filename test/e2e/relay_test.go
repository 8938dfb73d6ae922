package e2e

import (
	"context"
	"net"
	"sync"
	"time"
)

// relay passes TCP connections of the box on to its targets by turns, and does
// to them what a network or a load balancer does.
type relay struct {
	s       *scene
	targets []string

	mu    sync.Mutex // guards all below
	turn  int
	delay time.Duration
	links map[*link]bool
}

// link is a connection from end to end.
type link struct {
	client, server net.Conn
	// stranded is closed when nothing passes any more.
	stranded chan struct{}
	once     sync.Once
}

// relay listens in the box until the test ends.
func (s *scene) relay(address string, targets ...string) *relay {
	s.Helper()
	listener, err := s.box.Listen(s.ctx, "tcp", address)
	s.must(err, "listen in the box")
	r := &relay{s: s, targets: targets, links: map[*link]bool{}}
	ctx, cancel := context.WithCancel(s.ctx)
	var work sync.WaitGroup
	work.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			work.Go(func() { r.pass(ctx, client) })
		}
	})
	s.Cleanup(func() {
		cancel()
		_ = listener.Close()
		r.cut()
		work.Wait()
	})
	return r
}

// pass holds one connection until either side ends it.
func (r *relay) pass(ctx context.Context, client net.Conn) {
	defer client.Close()
	r.mu.Lock()
	target := r.targets[r.turn%len(r.targets)]
	r.turn++
	r.mu.Unlock()
	server, err := r.s.box.Dial(ctx, "tcp", target)
	if err != nil {
		return
	}
	l := &link{client: client, server: server, stranded: make(chan struct{})}
	r.mu.Lock()
	r.links[l] = true
	r.mu.Unlock()
	var ways sync.WaitGroup
	ways.Go(func() { r.move(ctx, l, server, client) })
	ways.Go(func() { r.move(ctx, l, client, server) })
	ways.Wait()
	r.mu.Lock()
	delete(r.links, l)
	r.mu.Unlock()
}

// move moves bytes one way, as much later as the relay has them be. It never
// overtakes what it moved before.
func (r *relay) move(ctx context.Context, l *link, to, from net.Conn) {
	type piece struct {
		data []byte
		due  time.Time
	}
	pieces := make(chan piece, 1024)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(pieces)
		for buffer := make([]byte, 64<<10); ; {
			n, err := from.Read(buffer)
			if n > 0 {
				r.mu.Lock()
				due := time.Now().Add(r.delay)
				r.mu.Unlock()
				select {
				case pieces <- piece{append([]byte(nil), buffer[:n]...), due}:
				case <-l.stranded:
					return
				}
			}
			if err != nil {
				return
			}
		}
	})
	for p := range pieces {
		if wait := time.Until(p.due); wait > 0 {
			time.Sleep(wait)
		}
		if l.isStranded() {
			break
		}
		if _, err := to.Write(p.data); err != nil {
			break
		}
	}
	if l.isStranded() {
		// Neither side is told: both ends stay open until the test ends.
		<-ctx.Done()
	}
	_ = to.Close()
	_ = from.Close()
	for range pieces {
		// The reader may wait for room.
	}
	reading.Wait()
}

func (l *link) isStranded() bool {
	select {
	case <-l.stranded:
		return true
	default:
		return false
	}
}

// cut ends all connections.
func (r *relay) cut() {
	r.each(func(l *link) {
		_ = l.client.Close()
		_ = l.server.Close()
	})
}

// strand lets nothing pass any more on the connections that there are, and tells
// nobody; new ones work.
func (r *relay) strand() {
	r.each(func(l *link) { l.once.Do(func() { close(l.stranded) }) })
}

func (r *relay) each(do func(*link)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for l := range r.links {
		do(l)
	}
}

// late has everything arrive so much later from now on.
func (r *relay) late(by time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.delay = by
}
