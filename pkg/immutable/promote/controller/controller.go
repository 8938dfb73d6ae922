package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/promote"
)

// Manager is the name that the promoter's writes carry in managedFields.
const Manager = "nodekeeper-promote"

const leaseName = "nodekeeper-promote"

// Options of a controller. All but Namespaces and Owners must be set.
type Options struct {
	Config *rest.Config
	// Namespace is the promoter's own: lease and history are there.
	Namespace string
	// Identity tells two promoters apart.
	Identity string
	// Namespaces are those it looks at; nil for all.
	Namespaces labels.Selector
	MinAge     time.Duration
	// Owners are as in promote.Policy.
	Owners []string
	// DryRun writes events, log lines and its own history, but marks nothing.
	DryRun bool
	// Once makes Run end after one pass.
	Once bool
	// Interval is between the end of a pass and the next.
	Interval time.Duration
	// Promotions and Reads bound requests a second: patches, and all others that
	// are made for one object or namespace.
	Promotions, Reads rate.Limit
	// Lease is how long a promoter that died keeps others waiting.
	Lease time.Duration
	Log   *slog.Logger
	Now   func() time.Time
	// Judged, if set, is told of each candidate right before it is acted on.
	Judged func(promote.Object, promote.Verdict)
}

// Controller promotes. Run may be called once, Counts at any time.
type Controller struct {
	o          Options
	core       *corev1.CoreV1Client
	leases     *coordinationv1.CoordinationV1Client
	metadata   metadata.Interface
	promotions *rate.Limiter
	reads      *rate.Limiter

	countsMu sync.Mutex // guards counts and state
	counts   Counts
	state    State
}

// New returns a controller that has asked nothing yet.
func New(o Options) (*Controller, error) {
	c := &Controller{
		o:          o,
		promotions: rate.NewLimiter(o.Promotions, 1),
		reads:      rate.NewLimiter(o.Reads, max(1, int(o.Reads))),
	}
	config := rest.CopyConfig(o.Config)
	// The limits above are the ones that count; this one is for lists.
	config.QPS, config.Burst = 20, 20
	var err error
	if c.metadata, err = metadata.NewForConfig(config); err != nil {
		return nil, err
	}
	if c.core, err = corev1.NewForConfig(config); err != nil {
		return nil, err
	}
	// The lease is renewed however busy the others are.
	if c.leases, err = coordinationv1.NewForConfig(rest.CopyConfig(o.Config)); err != nil {
		return nil, err
	}
	return c, nil
}

// Run waits for the lease and goes through the cluster until the context ends, or
// once. It returns an error if the lease is lost, which another then has.
func (c *Controller) Run(ctx context.Context) error {
	leading, stop := context.WithCancel(ctx)
	defer stop()
	t := term{over: make(chan struct{})}
	var passed error
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: c.o.Namespace, Name: leaseName},
			Client:     c.leases,
			LockConfig: resourcelock.ResourceLockConfig{Identity: c.o.Identity},
		},
		// In client-go's proportions: 15 s, 10 s, 2 s.
		LeaseDuration:   c.o.Lease,
		RenewDeadline:   c.o.Lease * 2 / 3,
		RetryPeriod:     c.o.Lease * 2 / 15,
		ReleaseOnCancel: true,
		Name:            leaseName,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				if !t.begin() {
					return
				}
				defer close(t.over)
				c.o.Log.Info("leading", "identity", c.o.Identity, "dryRun", c.o.DryRun)
				c.change(func(s *State) { s.Leading, s.Known = true, true })
				defer c.change(func(s *State) { s.Leading = false })
				passed = c.passes(ctx)
				stop()
			},
			OnStoppedLeading: func() {},
			OnNewLeader: func(identity string) {
				c.change(func(s *State) { s.Known = true })
				if identity != c.o.Identity {
					c.o.Log.Info("another leads", "identity", identity)
				}
			},
		},
	})
	if err != nil {
		return fmt.Errorf("lease %s/%s: %w", c.o.Namespace, leaseName, err)
	}
	elector.Run(leading)
	lost := leading.Err() == nil
	if t.end() {
		<-t.over
	}
	if lost {
		return errors.New("the lease is lost to another")
	}
	if ctx.Err() != nil {
		return nil
	}
	return passed
}

// term is the time in which a promoter leads. client-go begins it in a goroutine
// of its own, perhaps after the elector has returned.
type term struct {
	mu           sync.Mutex
	begun, ended bool
	over         chan struct{}
}

func (t *term) begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.begun = !t.ended
	return t.begun
}

// end lets none begin, and says whether one is to be waited for.
func (t *term) end() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	return t.begun
}

func (c *Controller) passes(ctx context.Context) error {
	for {
		began, before := c.o.Now(), c.Counts()
		err := c.Pass(ctx)
		if err == nil {
			c.passed(began, before)
		}
		counts := c.Counts()
		c.o.Log.Info("pass ended", "took", c.o.Now().Sub(began).Round(time.Millisecond), "counts", counts, "error", err)
		if c.o.Once || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(c.o.Interval):
		}
	}
}
