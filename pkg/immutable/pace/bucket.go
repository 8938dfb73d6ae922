package pace

import (
	"context"
	"sync"
	"time"
)

// Class is how urgent a request is. A lower one passes ahead of a higher one.
type Class int

const (
	// First is for what somebody waits for with a deadline; it may borrow.
	First Class = iota
	// Soon is for what keeps a promise already given: a watch to be opened
	// again, a copy to be checked.
	Soon
	// Background is for what may wait for minutes.
	Background
	classes
)

// Options of a bucket.
type Options struct {
	// Rate is in tokens a second, above zero.
	Rate float64
	// Burst is how many tokens a bucket that has rested holds, at least 1.
	Burst int
	// Debt is how many tokens First may borrow.
	Debt int
	// InFlight is how many may be between Take and release at once; 0 for any
	// number. While requests are answered it grows by one with each, as far as
	// InFlightMost, and no further than it takes for Goal requests a second (0:
	// any) at the quickest answer of the burst; Trouble halves it, to no less than
	// a quarter of InFlight; and when none is left it is InFlight again.
	InFlight, InFlightMost int
	Goal                   float64
	// Jitter lengthens each wait for a token by up to this share of it.
	Jitter float64
	// Rand is in [0, 1). It is called under the bucket's lock.
	Rand func() float64
}

// Bucket hands out tokens. Its methods may be called concurrently.
type Bucket struct {
	options Options

	mu       sync.Mutex
	tokens   float64 // negative: borrowed
	at       time.Time
	inFlight int
	most     int           // may be in flight now
	quickest time.Duration // answer since nothing was in flight
	lines    [classes][]*waiter
	timer    *time.Timer
}

type waiter struct {
	granted chan struct{}
	at      time.Time // when it was; set before granted is closed
}

// New returns a full bucket.
func New(o Options) *Bucket {
	return &Bucket{options: o, tokens: float64(max(o.Burst, 1)), at: time.Now(), most: o.InFlight}
}

// Take waits for a token. The caller calls release when its request has been
// answered; calling it again does nothing. The error is the context's.
func (b *Bucket) Take(ctx context.Context, class Class) (release func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w := &waiter{granted: make(chan struct{})}
	b.mu.Lock()
	b.lines[class] = append(b.lines[class], w)
	b.serve()
	b.mu.Unlock()
	select {
	case <-w.granted:
		return sync.OnceFunc(func() { b.release(w.at) }), nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, other := range b.lines[class] {
		if other == w {
			b.lines[class] = append(b.lines[class][:i], b.lines[class][i+1:]...)
			return nil, ctx.Err()
		}
	}
	// Granted in the same moment: the token is spent, the place is not.
	b.inFlight--
	b.serve()
	return nil, ctx.Err()
}

// Ready tells whether a token is there now, without credit, and nobody waits.
func (b *Bucket) Ready() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill()
	return b.tokens >= 1 && !b.full() && !b.waiting()
}

func (b *Bucket) release(since time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inFlight--
	if took := time.Since(since); b.quickest == 0 || took < b.quickest {
		b.quickest = took
	}
	switch most := b.growth(); {
	case b.inFlight == 0 && !b.waiting():
		b.most, b.quickest = b.options.InFlight, 0
	case b.most < most:
		b.most++
	case b.most > most:
		b.most--
	}
	b.serve()
}

// growth is how many may come to be in flight.
func (b *Bucket) growth() int {
	most := b.options.InFlightMost
	if b.options.Goal > 0 {
		most = min(most, int(b.options.Goal*b.quickest.Seconds()))
	}
	return max(most, b.options.InFlight)
}

// Trouble tells of a request that its server was too busy for, before its
// release.
func (b *Bucket) Trouble() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.most = max(b.most/2, b.options.InFlight/4, 1)
}

// serve lets through whoever may go, and sets the timer for the next. Called
// with mu held.
func (b *Bucket) serve() {
	b.refill()
	for class := range classes {
		for len(b.lines[class]) > 0 {
			if b.full() {
				return // a release serves again
			}
			if short := b.price(class) - b.tokens; short > 0 {
				b.wakeIn(short)
				return
			}
			b.tokens--
			b.inFlight++
			b.lines[class][0].at = b.at
			close(b.lines[class][0].granted)
			b.lines[class] = b.lines[class][1:]
		}
	}
}

// price is how many tokens must be there for one of this class to go.
func (b *Bucket) price(class Class) float64 {
	if class == First {
		return 1 - float64(b.options.Debt)
	}
	return 1
}

func (b *Bucket) refill() {
	now := time.Now()
	b.tokens += now.Sub(b.at).Seconds() * b.options.Rate
	b.tokens = min(b.tokens, float64(max(b.options.Burst, 1)))
	b.at = now
}

func (b *Bucket) wakeIn(tokens float64) {
	wait := tokens / b.options.Rate
	if b.options.Rand != nil {
		wait *= 1 + b.options.Jitter*b.options.Rand()
	}
	// One nanosecond more, so that rounding never wakes it a token short.
	d := time.Duration(wait*float64(time.Second)) + time.Nanosecond
	if b.timer == nil {
		b.timer = time.AfterFunc(d, b.wake)
		return
	}
	b.timer.Reset(d)
}

func (b *Bucket) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.serve()
}

func (b *Bucket) full() bool {
	return b.options.InFlight > 0 && b.inFlight >= b.most
}

func (b *Bucket) waiting() bool {
	for _, line := range b.lines {
		if len(line) > 0 {
			return true
		}
	}
	return false
}
