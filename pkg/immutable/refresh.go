package immutable

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/pace"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/upstream"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/wire"
)

// refresh is a LIST on its way, with its further attempts.
type refresh struct {
	// version is what the LIST asks for: "", "0" or a number.
	version string
	number  uint64
	class   pace.Class
	// wantedAt is when the last request came that waits for it.
	wantedAt time.Time
	// sent is set while a LIST is with the API server: whoever comes then and
	// wants the most recent state cannot use its answer.
	sent bool
	// hurry ends the pause before the next attempt, on behalf of a new request:
	// the API server may be well again.
	hurry chan struct{}
	// cancel ends it with its entry.
	cancel context.CancelFunc
	// troubled is closed when an attempt failed and another will follow, trouble
	// being the last failure; done is closed
	// when it is over, and err is set before.
	troubled chan struct{}
	trouble  error
	done     chan struct{}
	err      error
}

// refresh has the state renewed, by a LIST that is about to be sent anyway if
// one fits. Called with mu held.
func (g *Guard) refresh(e *entry, version string, class pace.Class) *refresh {
	number, _ := parseVersion(version) // 0 for "" and "0"
	for _, r := range e.refreshes {
		if r.class <= class && r.answers(version, number) {
			g.count.add(ListsJoined)
			r.wantedAt = time.Now()
			if r.trouble != nil && class == pace.First {
				select {
				case r.hurry <- struct{}{}:
				default:
				}
			}
			return r
		}
	}
	r := &refresh{
		version: version, number: number, class: class, wantedAt: time.Now(),
		hurry:    make(chan struct{}, 1),
		troubled: make(chan struct{}), done: make(chan struct{}),
	}
	if g.closing || e.gone {
		r.err = context.Canceled
		close(r.done)
		return r
	}
	ctx, cancel := context.WithCancel(g.ctx)
	r.cancel = cancel
	e.refreshes = append(e.refreshes, r)
	g.spawn(func(context.Context) { g.carryOut(ctx, e, r) })
	return r
}

// answers says whether the LIST's answer will do for a wish.
func (r *refresh) answers(version string, number uint64) bool {
	switch version {
	case "":
		return r.version == "" && !r.sent
	case "0":
		return true
	}
	return r.version == "" && !r.sent || r.number >= number
}

// carryOut asks until there is an answer, a refusal that will stay, or nobody
// left who wants it.
func (g *Guard) carryOut(ctx context.Context, e *entry, r *refresh) {
	defer r.cancel()
	class, pause := r.class, retryFirst
	for {
		over, err := g.attempt(ctx, e, r, class)
		if over {
			return
		}
		var refusal *upstream.Refusal
		delay := time.Duration((1 + g.options.Rand()) * float64(pause))
		if errors.As(err, &refusal) {
			delay = max(delay, min(refusal.Wait(), 2*retryMost))
		}
		// A sick API server is given no credit: the deadline has gone anyway.
		class, pause = max(class, pace.Soon), min(2*pause, retryMost)
		if r.rest(ctx, delay) {
			class = pace.First
		}
	}
}

// rest waits before the next attempt, and tells whether it was hurried.
func (r *refresh) rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-r.hurry:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// attempt sends one LIST, and takes in what comes of it: in one go, so that
// nobody takes the new state for an old one.
func (g *Guard) attempt(ctx context.Context, e *entry, r *refresh, class pace.Class) (over bool, err error) {
	release, err := g.lists.Take(ctx, class)
	if err != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.settle(ctx, e, r, err), err
	}
	defer release()
	ask, err := g.question(ctx, e, r)
	if err != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.settle(ctx, e, r, err), err
	}
	g.count.add(Lists)
	if ask.version == "" {
		g.count.add(ListsConsistent)
	}
	listCtx, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	version, object, err := g.options.Upstream.List(listCtx, e.key, ask.version, ask.match)
	g.mu.Lock()
	defer g.mu.Unlock()
	r.sent = false
	if ask.version == "" && err == nil {
		g.fence(e.key.Resource, version, ask.at)
	}
	g.answered(e.key.Resource, ask)
	if err != nil {
		g.count.add(ListFailures)
		if ctx.Err() == nil && passing(err) {
			g.lists.Trouble()
		}
		delete(g.fences, e.key.Resource)
		return g.settle(ctx, e, r, err), err
	}
	g.count.add(ListsAnswered)
	err = g.adopt(e, version, object, ask.floor)
	return g.settle(ctx, e, r, err), err
}

// settle ends the refresh, or notes the failure of an attempt that others will
// follow. Called with mu held.
func (g *Guard) settle(ctx context.Context, e *entry, r *refresh, err error) (over bool) {
	if err == nil || ctx.Err() != nil || e.gone || !passing(err) || r.beyond(e, err) || !e.used() {
		g.finish(e, r, err)
		return true
	}
	if r.trouble == nil {
		close(r.troubled)
	}
	r.trouble = err
	return false
}

// finish tells those who wait. Called with mu held.
func (g *Guard) finish(e *entry, r *refresh, err error) {
	for i, other := range e.refreshes {
		if other == r {
			e.refreshes = append(e.refreshes[:i], e.refreshes[i+1:]...)
			break
		}
	}
	if err != nil {
		g.options.Log.Debug("list failed", "key", e.key.String(), "error", err)
	}
	r.err = err
	close(r.done)
	if unusable(err) {
		// Nothing that is known of the key can be relied on.
		g.forget(e)
		return
	}
	g.tend(e)
}

// beyond says that the API server refused because the LIST asked for more than
// it has said there is. The client must be told, to give its version up:
// client-go tools/cache/reflector.go isTooLargeResourceVersionError, v1.37.
func (r *refresh) beyond(e *entry, err error) bool {
	var refusal *upstream.Refusal
	return errors.As(err, &refusal) && refusal.Code == http.StatusGatewayTimeout &&
		r.number > 0 && (e.state == nil || r.number > e.state.number)
}

// passing says whether the same request may succeed in a while.
func passing(err error) bool {
	var refusal *upstream.Refusal
	if errors.As(err, &refusal) {
		return refusal.Code == http.StatusTooManyRequests || refusal.Code >= http.StatusInternalServerError
	}
	return !unusable(err)
}

// unusable says that the API server answered, and that the guard can do nothing
// with the answer. The request is then the API server's to answer.
func unusable(err error) bool {
	for _, known := range []error{errVersions, errBytes, wire.ErrResourceVersion, upstream.ErrTooLarge, upstream.ErrAnswer} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}
