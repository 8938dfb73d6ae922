package announce

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

const (
	// heartbeat is the time between two writes of a condition that has not
	// changed.
	heartbeat = 5 * time.Minute
	// spacing is the least time between two rounds of writes: what changes in
	// between goes into one.
	spacing = 5 * time.Second
	// eventsARound bounds the events of one.
	eventsARound = 10
	// retryFirst and retryMost bound the wait after a failure.
	retryFirst, retryMost = 5 * time.Second, 5 * time.Minute
	// absentTime is the time between two looks for a kubeconfig.
	absentTime = 30 * time.Second
)

// Options are what an Announcer is made of.
type Options struct {
	// Kubeconfig is the kubelet's own.
	Kubeconfig string
	Version    string
	// Now is the wall clock, After is time.After.
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
	Log   *slog.Logger
}

// Announcer tells the API server. Published, Acted and Crashed may be called by
// anybody and never wait for it; the rest belongs to the goroutine of Run.
type Announcer struct {
	Options
	client *client
	wake   chan struct{}

	mu sync.Mutex // guards what is to be told; held for moments
	// node is the name to tell of, empty before the first look.
	node string
	want condition
	// blind is since when there is nothing to be seen, on the boot clock.
	blind *time.Duration
	// overdue are those that were told to be.
	overdue map[string]bool
	book    book

	// has is the condition as the API server has it, if known.
	has   *nodeCondition
	known bool
	retry time.Duration
	said  string
	// refused is why the API server does not take the condition, which is not
	// tried before refusedUntil.
	refused      string
	refusedUntil time.Time
}

// New returns an Announcer that has asked nothing yet.
func New(o Options) *Announcer {
	return &Announcer{
		Options: o, wake: make(chan struct{}, 1),
		client: &client{path: o.Kubeconfig, version: o.Version, now: o.Now},
	}
}

// Published takes up the status of a look.
func (a *Announcer) Published(s *status.Status) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var blind time.Duration
	if blindness(s) == "" {
		a.blind = nil
	} else {
		if a.blind == nil {
			began := s.Agent.Taken.Boot
			a.blind = &began
		}
		blind = s.Agent.Taken.Boot - *a.blind
	}
	want := describe(s, blind)
	if s.Node.Name != "" && (a.node != s.Node.Name || a.want != want) {
		a.node, a.want = s.Node.Name, want
		a.hurry()
	}
	overdue := map[string]bool{}
	for _, v := range s.Verdicts {
		if !v.Overdue || v.Pod == "" {
			continue
		}
		name := nameOf(v)
		if overdue[name] = true; !a.overdue[name] {
			a.add(ofVerdict(v))
		}
	}
	a.overdue = overdue
}

// Acted takes up what came of an act.
func (a *Announcer) Acted(act restartpolicy.Act) {
	if e, news := ofAct(act); news {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.add(e)
	}
}

// Crashed takes up a record.
func (a *Announcer) Crashed(e record.Entry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.add(ofRecord(e))
}

// add enters an event. Called with mu held.
func (a *Announcer) add(e event) {
	if !a.book.add(e, a.Now()) {
		a.Log.Debug("too much happens at once for an event", "reason", e.Reason, "namespace", e.Namespace, "pod", e.Pod)
		return
	}
	a.hurry()
}

func (a *Announcer) hurry() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// Run tells until ctx ends.
func (a *Announcer) Run(ctx context.Context) {
	defer a.client.close()
	select { // before a look there is nothing to tell
	case <-ctx.Done():
		return
	case <-a.wake:
	}
	for {
		select {
		case <-a.wake:
		default:
		}
		pause := a.round(ctx)
		// Failures and rounds have their spacing, whatever happens meanwhile.
		least := a.After(max(spacing, a.retry))
		select {
		case <-ctx.Done():
			return
		case <-least:
		}
		select {
		case <-ctx.Done():
			return
		case <-a.wake:
		case <-a.After(max(0, pause-max(spacing, a.retry))):
		}
	}
}

// round tells what there is to tell, and returns when to do so again even if
// nothing happens.
func (a *Announcer) round(ctx context.Context) time.Duration {
	pause, err := a.tell(ctx)
	switch {
	case ctx.Err() != nil:
	case err == nil:
		if a.said != "" {
			a.Log.Info("the API server is told again")
		}
		a.retry, a.said = 0, ""
	case errors.Is(err, fs.ErrNotExist):
		// A node without an API server, or one that has not joined yet.
		a.Log.Debug("nothing is announced", "error", err)
		a.known, a.retry, a.said = false, 0, ""
		return absentTime
	default:
		// What the API server has is not known now: it is read again.
		a.known = false
		a.retry = min(max(2*a.retry, retryFirst), retryMost)
		if a.said == "" {
			a.Log.Info("the API server cannot be told; records, journal and metrics have it all", "error", err)
		}
		a.said = err.Error()
		return a.retry
	}
	return pause
}

// tell writes the condition if it is due, and events.
func (a *Announcer) tell(ctx context.Context) (time.Duration, error) {
	a.mu.Lock()
	node, want := a.node, a.want
	a.mu.Unlock()
	if node == "" {
		return absentTime, nil
	}
	if err := a.client.open(); err != nil {
		return 0, err
	}
	pause := a.refusedUntil.Sub(a.Now())
	if pause <= 0 || pause > heartbeat { // the clock may have been set back
		var err error
		switch pause, err = a.tellCondition(ctx, node, want); {
		case err == nil:
			a.refused = ""
		case refused(err) && !answered(err, http.StatusNotFound): // the node may be registered in a moment
			// Its rights, or a webhook, are against the condition: events may pass.
			if a.refused != err.Error() {
				a.refused = err.Error()
				a.Log.Info("the API server refuses the node's condition; events are told all the same", "error", err)
			}
			pause, a.refusedUntil = heartbeat, a.Now().Add(heartbeat)
		default:
			return 0, err
		}
	}
	for range eventsARound {
		a.mu.Lock()
		s, at := a.book.next(a.Now())
		a.mu.Unlock()
		if s == nil {
			if !at.IsZero() {
				pause = min(pause, at.Sub(a.Now()))
			}
			return pause, nil
		}
		if err := a.write(ctx, node, s); err != nil {
			return 0, err
		}
	}
	return spacing, nil
}

// tellCondition writes the condition if it is due, and returns when it will be.
func (a *Announcer) tellCondition(ctx context.Context, node string, want condition) (time.Duration, error) {
	if !a.known {
		has, err := a.client.condition(ctx, node)
		if err != nil {
			return 0, err
		}
		a.has, a.known = has, true
	}
	now := a.Now()
	if a.has == nil || !a.has.says(want) || now.Sub(a.has.LastHeartbeatTime).Abs() >= heartbeat {
		next := want.next(a.has, now)
		if err := a.client.setCondition(ctx, node, next); err != nil {
			return 0, err
		}
		a.has = &next
	}
	return max(0, heartbeat-now.Sub(a.has.LastHeartbeatTime)), nil
}

// write writes one series. What the API server refuses for good, as for a
// namespace that it does not have, is not tried again.
func (a *Announcer) write(ctx context.Context, node string, s *series) error {
	ask := a.client.createEvent
	if s.told > 0 {
		ask = a.client.recount
	}
	err := ask(ctx, s.toAPI(node))
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err == nil:
		a.book.wrote(s, a.Now())
	case s.told > 0 && answered(err, http.StatusNotFound):
		a.book.lost(s)
	case refused(err):
		a.Log.Debug("event refused", "reason", s.Reason, "namespace", s.Namespace, "pod", s.Pod, "error", err)
		a.book.drop(s)
	default:
		return err
	}
	return nil
}
