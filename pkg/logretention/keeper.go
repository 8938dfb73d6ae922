package logretention

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodekeeper/nodekeeper/pkg/lifecycle"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/dirwatch"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/store"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

const (
	// tendEvery is the time between two rounds of the store's housekeeping.
	tendEvery = time.Minute
	// queued events and requests; more are dropped and counted.
	queuedEvents   = 1024
	queuedRequests = 16
)

// Keeper keeps crash records. Observe, Event, Record, NameAct and Status may be
// called by anybody, also while Run is not running; everything else belongs to
// the goroutine that calls Run.
type Keeper struct {
	Options
	store   *store.Store
	watcher *dirwatch.Watcher // nil if there is no inotify

	latest   atomic.Pointer[node.Snapshot]
	looked   chan struct{}
	events   chan lifecycle.Event
	dropped  atomic.Int64
	requests chan request
	names    chan name

	statusLock sync.Mutex // guards status
	status     Status

	owned
}

// owned is the state of Run's goroutine. What grows with time is kept per live
// attempt, or bounded.
type owned struct {
	snapshot *node.Snapshot // the last one
	attempts map[string]*attempt
	// byPath is the attempt whose log is at a path.
	byPath map[string]*attempt
	// done are containers that were recorded, or that are not to be, for as
	// long as the runtime still lists them.
	done map[string]struct{}
	// foreign are UIDs of pods that are none of ours, for as long as the
	// runtime lists them.
	foreign map[string]struct{}
	pending *pending
	repairs *repairs
	// orphaned is set once orphans have been looked for.
	orphaned bool
	// scan is set when everything below the pod log root has to be looked at.
	scan bool
	// unwatched is why the pod log root is not watched; crowded is set while
	// there are too many directories below it.
	unwatched error
	crowded   bool
	asker     *asker
	herald    *herald
	tending   bool
	tended    chan error
	trouble   map[string]string
	lost      int
	every     time.Duration
	// device is the file system of the record root.
	device uint64
	// rotatesAbove is the constant, but in tests.
	rotatesAbove int64
}

// New opens the record root. The error says what makes keeping records
// impossible; the caller then runs without a Keeper.
func New(o Options) (*Keeper, error) {
	o = o.withDefaults()
	if !filepath.IsAbs(o.Root) {
		return nil, fmt.Errorf("record root %q: not an absolute path", o.Root)
	}
	if err := dropExcluded(o.Root, o.Config.Exclude, func(string) bool { return false }, o.Log); err != nil {
		o.Log.Warn("logs of excluded pods not let go of", "error", err)
	}
	s, err := store.Open(store.Options{
		Root: o.Root, Node: o.Node, BootID: o.Clock.BootID(), Retention: o.Config.Retention,
		Now: func() time.Time { return o.Clock.Now().Wall }, Log: o.Log,
	})
	if err != nil {
		return nil, err
	}
	k := &Keeper{
		Options:  o,
		store:    s,
		looked:   make(chan struct{}, 1),
		events:   make(chan lifecycle.Event, queuedEvents),
		requests: make(chan request),
		names:    make(chan name, queuedRequests),
		owned: owned{
			attempts:     map[string]*attempt{},
			byPath:       map[string]*attempt{},
			done:         map[string]struct{}{},
			foreign:      map[string]struct{}{},
			trouble:      map[string]string{},
			repairs:      newRepairs(),
			tended:       make(chan error, 1),
			every:        tendEvery,
			rotatesAbove: rotatesAbove,
		},
	}
	var root unix.Stat_t
	if err := unix.Stat(o.Root, &root); err != nil {
		return nil, errors.Join(fmt.Errorf("record root %s: %w", o.Root, err), s.Close())
	}
	k.device = uint64(root.Dev)
	k.pending = newPending(o.Clock)
	k.asker = newAsker(o.Storage, o.Status)
	k.herald = newHerald(o.Root, o.Node, o.Config.JournalTail.Bytes(), o.Journal, o.Log)
	// Without inotify every look scans.
	if k.watcher, err = dirwatch.New(o.Watches); err != nil {
		o.Log.Warn("pod logs are not watched: each look scans them", "error", err)
	}
	return k, nil
}

// Run keeps records until the context ends, and then closes the record root.
// Live attempts stay there for the next process to take up. It is called once.
func (k *Keeper) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer func() {
		cancel()
		beside.Wait()
		k.pending.close()
		if err := k.store.Close(); err != nil {
			k.Log.Warn("record root not closed in order", "error", err)
		}
	}()
	beside.Go(func() { k.asker.run(ctx) })
	beside.Go(func() { k.herald.run(ctx) })
	seen, blind := make(chan dirwatch.Event), make(chan error, 1)
	if w := k.watcher; w != nil {
		beside.Go(func() { blind <- w.Run(ctx, seen) })
	}
	k.start()
	tend := time.NewTicker(k.every)
	defer tend.Stop()
	for {
		k.publishStatus()
		select {
		case <-ctx.Done():
			return nil
		case <-k.looked:
			k.look(k.latest.Load())
		case e := <-k.events:
			k.hear(e)
		case e := <-seen:
			k.notice(e)
		case err := <-blind:
			if err != nil {
				k.Log.Warn("pod logs are no longer watched: each look scans them", "error", err)
			}
			k.watcher = nil
		case a := <-k.asker.answers:
			k.learn(a)
		case r := <-k.requests:
			k.serve(r)
		case n := <-k.names:
			k.name(n)
		case <-tend.C:
			if !k.tending {
				k.tending = true
				beside.Go(func() { k.tended <- k.store.Tend(ctx) })
			}
			for _, a := range k.attempts {
				k.follow(a) // before prune: the kubelet may have compressed
				k.prune(a)
			}
			k.measure()
		case err := <-k.tended:
			k.tending = false
			k.say("housekeeping of crash records", err)
		}
	}
}

// start takes up what an earlier process or the hook has left.
func (k *Keeper) start() {
	k.rescan()
	k.watch()
	k.scanAll()
	k.measure() // the runtime may not answer for long
}

// Observe hands over what a look saw. It never blocks: a look that comes before
// the last one was taken replaces that.
func (k *Keeper) Observe(s *node.Snapshot) {
	k.latest.Store(s)
	select {
	case k.looked <- struct{}{}:
	default:
	}
}

// Event hands over a hint. It never blocks: past a bound hints are dropped and
// counted, and the next look makes up for them.
func (k *Keeper) Event(e lifecycle.Event) {
	select {
	case k.events <- e:
	default:
		k.dropped.Add(1)
	}
}

// say logs trouble of one kind when it begins, changes and ends, and remembers
// it for the status.
func (k *Keeper) say(what string, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text == k.trouble[what] {
		return
	}
	if err == nil {
		delete(k.trouble, what)
		k.Log.Info(what + ": works again")
		return
	}
	k.trouble[what] = text
	k.Log.Warn(what, "error", err)
}
