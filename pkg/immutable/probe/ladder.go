package probe

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

const (
	// interval is the time between two looks; again that after a failed one.
	interval = 2 * time.Second
	again    = 250 * time.Millisecond
	// patience is how long the proxy may take to answer itself, and how long
	// the API server may take before it is asked past the proxy. The watchdog
	// (10 s) has to be fed within one look: three times patience, and interval.
	patience = 2 * time.Second
	// An answer of the API server to the kubelet within quiet is as good as a
	// look.
	quiet = 10 * time.Second

	silentBypass = 2 // looks without an answer of the proxy
	sickRenew    = 1 // looks at an API server that answers past the proxy only
	sickBypass   = 3

	// A bypass that the ladder began lasts for cool, and twice as long each
	// time up to coolMost.
	cool     = 5 * time.Minute
	coolMost = time.Hour
)

// Options are the proxy as the ladder sees it. Its functions are called by the
// ladder's goroutine alone, with contexts that end in time.
type Options struct {
	// Knock goes through the proxy and no further.
	Knock func(context.Context) error
	// Through asks the API server through the proxy, Direct past it. Whatever
	// it answers is no error.
	Through, Direct func(context.Context) error
	// Answered is when the API server last answered a request of the kubelet.
	Answered func() time.Time
	// Renew has new requests take new connections to the API server.
	Renew func()
	// Bypass begins or ends the ladder's bypass; Bypassed is why there is any.
	Bypass   func(on bool)
	Bypassed func() string
	// Ready is called when the proxy answers for the first time, and again
	// until it has no error: the kubelet may come.
	Ready func() error
	// Notify tells the service manager (sd_notify(3)).
	Notify func(string)
	Now    func() time.Time
	After  func(time.Duration) <-chan time.Time
	Log    *slog.Logger
}

// Ladder judges the proxy. It belongs to one goroutine.
type Ladder struct {
	options Options

	ready  bool
	status string
	// silent and sick count looks of that result in a row.
	silent, sick int
	bypassing    bool
	until        time.Time
	cool         time.Duration
}

// New makes a ladder.
func New(o Options) *Ladder { return &Ladder{options: o, cool: cool} }

// Run looks until the context ends. Only this loop feeds the watchdog: where it
// hangs, that is seen.
func (l *Ladder) Run(ctx context.Context) {
	for ctx.Err() == nil {
		wait := l.look(ctx)
		select {
		case <-l.options.After(wait):
		case <-ctx.Done():
		}
	}
}

// look looks once and acts. It returns the time until the next look.
func (l *Ladder) look(ctx context.Context) time.Duration {
	if err := bounded(ctx, l.options.Knock); err != nil {
		return l.noAnswer(ctx, err)
	}
	l.silent = 0
	l.alive()
	l.endBypass()
	if l.options.Bypassed() != "" {
		l.say("bypass: " + l.options.Bypassed())
		return interval
	}
	l.path(ctx)
	return interval
}

func (l *Ladder) noAnswer(ctx context.Context, err error) time.Duration {
	if ctx.Err() != nil {
		return 0
	}
	l.silent++
	l.options.Log.Warn("the proxy does not answer itself", "times", l.silent, "error", err)
	if l.silent >= silentBypass {
		l.bypass()
	}
	return again
}

// alive feeds the watchdog, and makes the service ready.
func (l *Ladder) alive() {
	if !l.ready {
		if err := l.options.Ready(); err != nil {
			l.say("not ready: " + err.Error())
		} else {
			l.ready = true
			l.options.Notify("READY=1")
		}
	}
	l.options.Notify("WATCHDOG=1")
}

// path looks whether requests get through to the API server where they could.
func (l *Ladder) path(ctx context.Context) {
	if l.options.Now().Sub(l.options.Answered()).Abs() < quiet {
		l.sick = 0
		l.say("serving")
		return
	}
	through := bounded(ctx, l.options.Through)
	if through == nil {
		l.sick = 0
		l.say("serving")
		return
	}
	direct := bounded(ctx, l.options.Direct)
	if ctx.Err() != nil {
		return
	}
	l.options.Notify("WATCHDOG=1")
	if direct != nil {
		l.sick = 0
		l.say("serving; the API server does not answer")
		return
	}
	l.sick++
	l.options.Log.Warn("the API server answers past the proxy and not through it", "times", l.sick, "error", through)
	if l.sick == sickRenew {
		l.options.Renew()
	}
	if l.sick >= sickBypass {
		l.bypass()
	}
}

func (l *Ladder) bypass() {
	if l.bypassing {
		return
	}
	l.bypassing = true
	l.until = l.options.Now().Add(l.cool)
	l.options.Log.Error("the proxy is sick and steps out of the way", "for", l.cool)
	l.cool = min(2*l.cool, coolMost)
	l.options.Bypass(true)
}

func (l *Ladder) endBypass() {
	// A clock that was set back does not make it last for ever.
	rest := l.until.Sub(l.options.Now())
	if !l.bypassing || rest > 0 && rest <= coolMost {
		return
	}
	l.bypassing, l.sick = false, 0
	l.options.Bypass(false)
}

// say tells the service manager's status line, once.
func (l *Ladder) say(status string) {
	if status == l.status {
		return
	}
	l.status = status
	l.options.Log.Info(status)
	l.options.Notify("STATUS=" + strings.ReplaceAll(status, "\n", "; "))
}

func bounded(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := f(ctx); err != nil {
		return fmt.Errorf("within %s: %w", patience, err)
	}
	return nil
}
