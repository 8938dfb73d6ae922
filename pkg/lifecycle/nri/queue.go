package nri

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/nodekeeper/nodekeeper/pkg/lifecycle"
)

// queueLength is how many events may wait for the handler: far more than the
// static pods of a node give in one synchronization.
const queueLength = 1024

// queue stands between the runtime, which waits for every answer, and the
// handler. What does not fit is dropped and counted.
type queue struct {
	events  chan lifecycle.Event
	dropped atomic.Uint64
}

func newQueue(length int) *queue {
	return &queue{events: make(chan lifecycle.Event, length)}
}

// offer never blocks. It may be called concurrently.
func (q *queue) offer(e lifecycle.Event) {
	select {
	case q.events <- e:
	default:
		q.dropped.Add(1)
	}
}

// deliver hands events to the handler, in order, until the context ends.
func (q *queue) deliver(ctx context.Context, handle func(lifecycle.Event), log *slog.Logger) {
	var told uint64
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case e := <-q.events:
			handle(e)
		}
		if n := q.dropped.Load(); n != told && len(q.events) == 0 {
			log.Warn("NRI events dropped, the handler was too slow", "dropped", n-told)
			told = n
		}
	}
}
