package nri

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/containerd/nri/pkg/api"

	"github.com/nodekeeper/nodekeeper/pkg/lifecycle"
)

// DefaultSocket is where CRI-O and containerd listen unless told otherwise.
const DefaultSocket = api.DefaultSocketPath

// Pauses between two attempts to connect: the first, doubled up to the longest.
// A connection that held for steady begins anew with the first.
const (
	firstPause   = time.Second
	longestPause = time.Minute
	steady       = 10 * time.Second
)

// Options say where to listen and whom to tell.
type Options struct {
	// Socket is the runtime's NRI socket; empty is DefaultSocket.
	Socket string
	// BootID goes into every event.
	BootID string
	// Handle takes the events, one at a time and in the runtime's order, on a
	// goroutine of the Source. While it blocks, events queue up and are dropped
	// past a bound.
	Handle func(lifecycle.Event)
	Log    *slog.Logger
	// After makes the pauses between connections and Now the times of events;
	// nil are those of package time.
	After func(time.Duration) <-chan time.Time
	Now   func() time.Time
}

// Source is an NRI plugin that observes, registered with the runtime for as long
// as there is one.
type Source struct {
	options  Options
	queue    *queue
	patience time.Duration

	stateLock sync.Mutex
	state     state
	// current is the observer of the connection that there is; the calls of an
	// older one may still be under way.
	current *observer
}

// state is what State tells.
type state struct {
	connected        bool
	runtime, version string
	err              error
}

// New returns a Source that does nothing until Run.
func New(options Options) *Source {
	if options.Socket == "" {
		options.Socket = DefaultSocket
	}
	if options.After == nil {
		options.After = time.After
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	return &Source{options: options, queue: newQueue(queueLength), patience: api.DefaultPluginRegistrationTimeout}
}

// Run keeps the Source registered with the runtime until the context ends. A
// runtime without NRI costs one failed connect a minute. Call it once.
func (s *Source) Run(ctx context.Context) {
	var delivery sync.WaitGroup
	delivery.Go(func() { s.queue.deliver(ctx, s.options.Handle, s.options.Log) })
	defer delivery.Wait()

	pause, said := firstPause, ""
	for {
		begin := s.options.Now()
		err := s.connect(ctx)
		had, err := s.lose(err)
		if ctx.Err() != nil {
			return
		}
		if had {
			said = ""
			if s.options.Now().Sub(begin) >= steady {
				pause = firstPause
			}
		}
		if text := err.Error(); text != said {
			s.tell(err)
			said = text
		}
		select {
		case <-ctx.Done():
			return
		case <-s.options.After(pause):
		}
		pause = min(2*pause, longestPause)
	}
}

// State tells whether the runtime sends events now, the name and version of the
// runtime that was met last, and why there is no connection: an error that is
// fs.ErrNotExist where the runtime has no NRI socket. It may be called
// concurrently with everything.
func (s *Source) State() (connected bool, runtime, version string, err error) {
	s.stateLock.Lock()
	defer s.stateLock.Unlock()
	return s.state.connected, s.state.runtime, s.state.version, s.state.err
}

// Dropped counts the events that the handler was too slow for.
func (s *Source) Dropped() uint64 { return s.queue.dropped.Load() }

// connect holds one connection and says why it ended.
func (s *Source) connect(ctx context.Context) error {
	o := &observer{source: s, configured: make(chan struct{})}
	s.stateLock.Lock()
	s.current = o
	s.stateLock.Unlock()
	c := connection{socket: s.options.Socket, observer: o, log: stubLog{s.options.Log}, patience: s.patience}
	return c.run(ctx)
}

// hear queues what the runtime said about a static pod's container.
func (s *Source) hear(kind lifecycle.Kind, pod *api.PodSandbox, c *api.Container, detail string) {
	if !static(pod) || c.GetId() == "" {
		return
	}
	e := event(kind, pod, c, s.options.Now(), detail)
	e.BootID = s.options.BootID
	s.queue.offer(e)
}

// meet notes who the runtime is.
func (s *Source) meet(runtime, version string) {
	s.stateLock.Lock()
	defer s.stateLock.Unlock()
	s.state.runtime, s.state.version = runtime, version
}

// join notes that an observer gets events from now on.
func (s *Source) join(o *observer) {
	s.stateLock.Lock()
	current := o == s.current
	if current {
		s.state.connected, s.state.err = true, nil
	}
	runtime, version := s.state.runtime, s.state.version
	s.stateLock.Unlock()
	if current {
		s.options.Log.Info("NRI events come from the runtime", "runtime", runtime, "version", version)
	}
}

// lose notes why there is no connection, and says whether there was one that
// brought events.
func (s *Source) lose(err error) (had bool, why error) {
	s.stateLock.Lock()
	defer s.stateLock.Unlock()
	if had = s.state.connected; had {
		err = fmt.Errorf("the connection ended: %w", err)
	}
	s.state.connected, s.state.err = false, err
	s.current = nil
	return had, err
}

func (s *Source) tell(err error) {
	log := s.options.Log.With("socket", s.options.Socket)
	if errors.Is(err, fs.ErrNotExist) {
		log.Info("the runtime has no NRI socket; events come from the other sources")
		return
	}
	log.Warn("no NRI connection to the runtime, trying again", "error", err)
}
