//go:build world

package world

import (
	"container/heap"
	"iter"
	"time"
)

// sim is simulated time: a queue of what is due, on the boot clock. Nothing in
// it sleeps, and everything runs in one goroutine.
type sim struct {
	now   time.Duration
	seq   uint64
	queue events
}

// event is something that is due.
type event struct {
	at  time.Duration
	seq uint64
	do  func()
	// task is resumed instead of do, if it still waits for this very wake-up.
	task   *task
	wakeUp uint64
}

type events []*event

func (q events) Len() int { return len(q) }
func (q events) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].seq < q[j].seq
}
func (q events) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *events) Push(e any)   { *q = append(*q, e.(*event)) }
func (q *events) Pop() any {
	old := *q
	e := old[len(old)-1]
	*q = old[:len(old)-1]
	return e
}

func (s *sim) push(e *event) {
	s.seq++
	e.seq = s.seq
	heap.Push(&s.queue, e)
}

// after lets something happen once d has passed.
func (s *sim) after(d time.Duration, do func()) { s.push(&event{at: s.now + max(0, d), do: do}) }

// run lets time pass until end.
func (s *sim) run(end time.Duration) {
	for len(s.queue) > 0 && s.queue[0].at <= end {
		e := heap.Pop(&s.queue).(*event)
		s.now = max(s.now, e.at)
		if e.task != nil {
			e.task.wake(e.wakeUp)
		} else {
			e.do()
		}
	}
	s.now = max(s.now, end)
}

// suspend lets d pass in which nobody runs: whoever waits goes on waiting for
// as long as before (timers of Go programs use CLOCK_MONOTONIC, which stands
// still), while the boot clock goes on.
func (s *sim) suspend(d time.Duration) {
	s.now += d
	for _, e := range s.queue {
		e.at += d
	}
}

// process is a program that runs: its tasks stop with it, and stand still while
// it is stopped by a signal.
type process struct {
	sim     *sim
	tasks   []*task
	stopped bool
	// since is when it was stopped.
	since time.Duration
	dead  bool
	// late are wake-ups that came while it was stopped.
	late []*event
}

func (p *process) kill() {
	p.dead, p.late = true, nil
	for len(p.tasks) > 0 {
		t := p.tasks[len(p.tasks)-1]
		t.end()
	}
}

func (p *process) stop() { p.stopped, p.since = true, p.sim.now }

func (p *process) resume() {
	p.stopped = false
	late := p.late
	p.late = nil
	for _, e := range late {
		e.at = p.sim.now
		p.sim.push(e)
	}
}

// task is one thread of a process: a body that reads from top to bottom and
// waits where the real one does.
type task struct {
	sim   *sim
	owner *process
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
	// wakeUp is the wake-up that it waits for; others are stale.
	wakeUp uint64
	ended  bool
}

// cut is how the body of a task ends whose process is killed.
type cut struct{}

func (p *process) start(body func(*task)) *task {
	t := &task{sim: p.sim, owner: p}
	t.next, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		defer func() {
			if r := recover(); r != nil {
				if _, ok := r.(cut); !ok {
					panic(r)
				}
			}
		}()
		t.yield = yield
		body(t)
	})
	p.tasks = append(p.tasks, t)
	p.sim.push(&event{at: p.sim.now, task: t, wakeUp: t.wakeUp})
	return t
}

func (t *task) wake(wakeUp uint64) {
	switch {
	case t.ended || wakeUp != t.wakeUp:
		return
	case t.owner.stopped:
		t.owner.late = append(t.owner.late, &event{task: t, wakeUp: wakeUp})
		return
	}
	t.wakeUp++
	if _, more := t.next(); !more {
		t.end()
	}
}

// end ends a task that waits, or has just returned.
func (t *task) end() {
	if t.ended {
		return
	}
	t.ended = true
	for i, o := range t.owner.tasks {
		if o == t {
			last := len(t.owner.tasks) - 1
			t.owner.tasks[i] = t.owner.tasks[last]
			t.owner.tasks = t.owner.tasks[:last]
			break
		}
	}
	t.stop()
}

func (t *task) wait() {
	if !t.yield(struct{}{}) {
		panic(cut{})
	}
}

// sleep waits for d.
func (t *task) sleep(d time.Duration) {
	t.sim.push(&event{at: t.sim.now + max(0, d), task: t, wakeUp: t.wakeUp})
	t.wait()
}

// cond wakes all tasks that wait for it.
type cond struct{ waiting []*event }

func (c *cond) broadcast(s *sim) {
	waiting := c.waiting
	c.waiting = nil
	for _, e := range waiting {
		if !e.task.ended && e.wakeUp == e.task.wakeUp {
			e.at = s.now
			s.push(e)
		}
	}
}

// await waits for the next broadcast.
func (t *task) await(c *cond) {
	c.waiting = append(c.waiting, &event{task: t, wakeUp: t.wakeUp})
	t.wait()
}

// awaitUntil waits for the next broadcast, at most until a time; it returns
// false if that has come.
func (t *task) awaitUntil(c *cond, until time.Duration) bool {
	if t.sim.now >= until {
		return false
	}
	c.waiting = append(c.waiting, &event{task: t, wakeUp: t.wakeUp})
	t.sim.push(&event{at: until, task: t, wakeUp: t.wakeUp})
	t.wait()
	return t.sim.now < until
}

// stream is a source of random numbers that belongs to one thing, so that what
// happens elsewhere does not change them.
type stream struct {
	state uint64
	// slow moves every duration towards the upper end of its range: 0 not at
	// all, 1 all the way.
	slow float64
}

func newStream(seed uint64, name string, slow float64) *stream {
	h := seed ^ 14695981039346656037
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	s := &stream{state: h, slow: slow}
	s.next()
	return s
}

// next is splitmix64.
func (s *stream) next() uint64 {
	s.state += 0x9e3779b97f4a7c15
	z := s.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (s *stream) float() float64 { return float64(s.next()>>11) / (1 << 53) }

// upTo is in [0, n).
func (s *stream) upTo(n int) int { return int(s.next() % uint64(n)) }

// chance is true with probability p.
func (s *stream) chance(p float64) bool { return s.float() < p }

// takes is how long some work takes, within its bounds.
func (s *stream) takes(lo, hi time.Duration) time.Duration {
	f := s.float()
	f += (1 - f) * s.slow
	return lo + time.Duration(f*float64(hi-lo))
}

// between is a duration that is nobody's work.
func (s *stream) between(lo, hi time.Duration) time.Duration {
	return lo + time.Duration(s.float()*float64(hi-lo))
}

func oneOf[T any](s *stream, of ...T) T { return of[s.upTo(len(of))] }
