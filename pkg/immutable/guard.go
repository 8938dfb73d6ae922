package immutable

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/pace"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/sentinel"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
)

// Guard is the engine. It serves from New until the context of Run ends; its
// methods may be called concurrently.
type Guard struct {
	options Options
	lists   *pace.Bucket
	watches *pace.Bucket
	count   counters

	ctx  context.Context // of everything that the guard does by itself
	stop context.CancelFunc
	work sync.WaitGroup

	maxBytes, maxObjectBytes int64

	// mu guards what is below and every entry and stream. It is held for
	// moments: no request is made and nothing is written under it.
	mu       sync.Mutex
	closing  bool
	entries  map[shape.Key]*entry
	families *sentinel.Families
	fences   map[shape.Resource]fence
	// consistent LISTs are with the API server; moved is closed, and made anew,
	// when one of them comes back.
	consistent map[shape.Resource]int
	moved      chan struct{}
	streams    int
	bytes      int64
}

// New returns a guard without any state.
func New(o Options) *Guard {
	o.complete()
	c := o.Config
	g := &Guard{
		options: o,
		lists: pace.New(pace.Options{
			Rate: float64(c.Lists.PerSecond), Burst: c.Lists.Burst,
			Debt: c.Lists.Credit, InFlight: listsInFlight, InFlightMost: listsInFlightMost, Goal: listsGoal,
		}),
		watches: pace.New(pace.Options{
			Rate: float64(c.Watches.PerSecond), Burst: c.Watches.Burst,
			Jitter: watchJitter, Rand: o.Rand,
		}),
		maxBytes:       c.MaxBytes.Bytes(),
		maxObjectBytes: c.MaxObjectBytes.Bytes(),
		entries:        map[shape.Key]*entry{},
		families:       sentinel.New(c.Sentinels),
		fences:         map[shape.Resource]fence{},
		consistent:     map[shape.Resource]int{},
		moved:          make(chan struct{}),
	}
	g.ctx, g.stop = context.WithCancel(context.Background())
	return g
}

// Run holds the guard open until ctx ends. It then ends every local stream
// cleanly, forgets every object, and returns when all of its own requests have
// ended. Requests that come later are passed through.
func (g *Guard) Run(ctx context.Context) {
	<-ctx.Done()
	g.mu.Lock()
	g.closing = true
	for _, e := range g.entries {
		g.forget(e)
	}
	g.mu.Unlock()
	g.stop()
	g.work.Wait()
}

// ServeHTTP answers one request, or passes it through.
func (g *Guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q, ok := shape.Parse(r)
	if !ok || oldExact(q) {
		g.pass(w, r, PassedShape)
		return
	}
	switch q.Verb {
	case shape.Watch:
		g.serveWatch(w, r, q)
	default:
		g.serveState(w, r, q)
	}
}

// oldExact is a page at one version, which the server takes to mean exactly
// that version: apiserver pkg/storage/etcd3/store.go, v1.37. A copy cannot.
func oldExact(q shape.Query) bool {
	return q.Verb == shape.List && q.Limit > 0 && q.ResourceVersionMatch == "" &&
		q.ResourceVersion != "" && q.ResourceVersion != "0"
}

func (g *Guard) pass(w http.ResponseWriter, r *http.Request, why Counter) {
	g.count.add(why)
	g.options.PassThrough.ServeHTTP(w, r)
}

// spawn runs f until the guard ends. Called with mu held.
func (g *Guard) spawn(f func(context.Context)) {
	if g.closing {
		return
	}
	g.work.Go(func() { f(g.ctx) })
}

// wait is false if ctx ended first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
