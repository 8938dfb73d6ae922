package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/containerd/ttrpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/nodekeeper/nodekeeper/pkg/lifecycle"
	"github.com/nodekeeper/nodekeeper/pkg/lifecycle/lifecyclev1"
)

// bounds keep the service small. A hook's event has some hundred bytes, and a
// hook connects for one event.
type bounds struct {
	message     int64 // bytes
	connections int
	time        time.Duration // of one connection
	queue       int           // events that wait for a handler that is busy
}

var ordinary = bounds{message: 64 << 10, connections: 128, time: 5 * time.Second, queue: 256}

// Serve takes events from the listener until the context ends, and closes it.
// The handler is called by one goroutine, in the order of arrival; while it is
// busy events wait, and past a bound they are refused. What a reporter was told
// has been taken is handled before Serve returns. The error is nil when the
// context has ended.
func Serve(ctx context.Context, listener net.Listener, handle func(lifecycle.Event), log *slog.Logger) error {
	return serve(ctx, listener, handle, log, ordinary)
}

func serve(ctx context.Context, listener net.Listener, handle func(lifecycle.Event), log *slog.Logger, bounds bounds) error {
	// ttrpc's options do not include one that fails.
	server, err := ttrpc.NewServer()
	if err != nil {
		_ = listener.Close()
		return err
	}
	events := &queue{c: make(chan lifecycle.Event, bounds.queue)}
	lifecyclev1.RegisterLifecycleService(server, events)

	var handler sync.WaitGroup
	handler.Go(func() {
		for e := range events.c {
			handle(e)
		}
	})
	door := newDoor(listener, log, bounds)
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	err = server.Serve(context.WithoutCancel(ctx), door)
	stop()
	_ = server.Close()
	door.clear()
	events.close()
	handler.Wait()
	if ctx.Err() != nil || errors.Is(err, ttrpc.ErrServerClosed) {
		return nil
	}
	return err
}

// queue is the service: it takes events, for as long as there is room.
type queue struct {
	mu     sync.RWMutex // guards closed, and c against being closed
	closed bool
	c      chan lifecycle.Event
}

func (q *queue) Report(_ context.Context, r *lifecyclev1.ReportRequest) (*lifecyclev1.ReportResponse, error) {
	e, ok := lifecycle.FromWire(r.GetEvent())
	if !ok {
		return nil, status.Error(codes.InvalidArgument, "an event without a container or of an unknown kind")
	}
	q.mu.RLock()
	defer q.mu.RUnlock()
	if q.closed {
		return nil, status.Error(codes.Unavailable, "the agent ends")
	}
	select {
	case q.c <- e:
		return new(lifecyclev1.ReportResponse), nil
	default:
		return nil, status.Error(codes.ResourceExhausted, "the agent is busy")
	}
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	close(q.c)
}
