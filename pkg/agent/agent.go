package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/nodekeeper/nodekeeper/internal/statefile"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/history"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/journal"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/timeline"
	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/remedy"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// Node is looked at. *node.Observer is one.
type Node interface {
	Look(ctx context.Context) *node.Snapshot
}

// Remedy acts. *remedy.Executor is one.
type Remedy interface {
	// Do carries out one step, or refuses it when ctx has ended before it began.
	Do(ctx context.Context, step restartpolicy.Step, confirm remedy.Confirm) remedy.Outcome
	// SaveEvidence saves what is known about a verdict, and acts on nothing.
	SaveEvidence(ctx context.Context, s *node.Snapshot, v restartpolicy.Verdict) (dir string, missing []string)
}

// Options are what an Agent is made of.
type Options struct {
	Config  config.Configuration
	Version string
	Node    Node
	Remedy  Remedy
	Clock   node.Clock
	// After is time.After.
	After func(time.Duration) <-chan time.Time
	// Notify sends a message to the service manager (sd_notify); nil if there
	// is none. It may be called concurrently.
	Notify func(message string)
	// Watchdog is the service manager's WatchdogSec; 0 for none.
	Watchdog time.Duration
	// Counts are the watch guard's for the timeline, false while there are none;
	// nil where none is configured. It must not block.
	Counts func() (timeline.Counts, bool)
	Logger *slog.Logger
}

// pokeDelay is the time from a poke to the look that it brings about, so that
// a burst of hints costs one look.
const pokeDelay = time.Second

// Agent is the loop. Poke may be called by anybody; everything else belongs to
// the goroutine that calls Run.
type Agent struct {
	Options
	policy  config.Restart
	lock    *os.File
	journal *journal.Journal
	files   *history.File
	history restartpolicy.History
	poked   chan struct{}

	records Records // nil if none are kept
	looks   uint64
	last    seen
	// unwritable says why the last act could not be entered in the journal, and
	// withheld why no act at all may be taken; empty if nothing is in the way.
	unwritable, withheld string
	changes              *changes
	chronicle            *chronicle
	manager              *manager
}

// New makes the agent's directories and reads what an earlier process has left
// there. Files that make no sense are set aside and never an error; a directory
// that cannot be written is one. The caller closes the Agent.
func New(o Options) (*Agent, error) {
	a := &Agent{
		Options: o,
		policy:  o.Config.Restart,
		files:   history.New(o.Config.Directories.Run, o.Config.Restart.Looks),
		poked:   make(chan struct{}, 1),
		changes: newChanges(o.Logger),
		manager: newManager(o.Notify, o.Watchdog),

		chronicle: newChronicle(o.Config.Directories.Log, o.Counts, o.Logger),
	}
	// The status is for everybody on the node; budgets are not.
	if err := os.MkdirAll(o.Config.Directories.Run, 0o755); err != nil {
		return nil, fmt.Errorf("make the run directory (directories.run): %w", err)
	}
	if err := os.MkdirAll(o.Config.Directories.State, 0o700); err != nil {
		return nil, fmt.Errorf("make the state directory (directories.state): %w", err)
	}
	lock, err := statefile.Lock(filepath.Join(o.Config.Directories.State, "agent.lock"))
	if errors.Is(err, statefile.ErrLocked) {
		return nil, fmt.Errorf("another agent is running with state directory %s: stop it first (nodekeeper.service)", o.Config.Directories.State)
	}
	if err != nil {
		return nil, err
	}
	a.lock = lock
	boot, now := o.Clock.BootID(), o.Clock.Now()
	j, aside, err := journal.Open(o.Config.Directories.State, boot, now)
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	if aside != "" {
		o.Logger.Warn(aside + "; no act for a while")
	}
	a.journal = j
	a.history, aside = a.files.Load(boot, now)
	if aside != "" {
		o.Logger.Warn(aside + "; all deadlines begin anew")
	}
	return a, nil
}

// Close closes the journal and lets another agent begin.
func (a *Agent) Close() error { return errors.Join(a.journal.Close(), a.lock.Close()) }

// Poke makes the next look come soon. It never blocks: hints are about when to
// look, never about what is there.
func (a *Agent) Poke() {
	select {
	case a.poked <- struct{}{}:
	default:
	}
}

// Run looks, judges and acts until ctx ends. An act in hand is then brought to
// its end first, within its bound.
func (a *Agent) Run(ctx context.Context) {
	a.Logger.Info("agent started", "version", a.Version, "dryRun", a.policy.DryRun,
		"interval", a.Config.Interval.Duration, "acts", len(a.journal.Acts()))
	end := a.chronicle.run(a.Version, a.Clock.BootID(), a.Clock)
	for {
		a.hear()
		again := a.turn(ctx)
		if ctx.Err() != nil {
			break
		}
		if !again && !a.wait(ctx) {
			break
		}
	}
	a.manager.stopping(0)
	end()
	a.Logger.Info("agent ended")
}

// hear forgets a poke that the look to come will have served.
func (a *Agent) hear() {
	select {
	case <-a.poked:
	default:
	}
}

// wait waits for the time of the next look. It returns false when ctx ended.
func (a *Agent) wait(ctx context.Context) bool {
	interval := a.After(a.Config.Interval.Duration)
	select {
	case <-ctx.Done():
		return false
	case <-interval:
		return true
	case <-a.poked:
	}
	select {
	case <-ctx.Done():
		return false
	case <-interval:
	case <-a.After(pokeDelay):
	}
	return true
}
