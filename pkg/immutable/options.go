package immutable

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/upstream"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/wire"
)

const (
	// listsInFlight is how many LISTs may wait for an answer at once at first, and
	// listsInFlightMost while they are answered: as many as an API server queues
	// for one node before it refuses with 429 (hand size 6, queues of 50:
	// apiserver pkg/apis/flowcontrol/bootstrap/default.go, v1.37). It is what
	// slows a burst down when the API server is busy.
	listsInFlight, listsInFlightMost = 48, 300
	// listsGoal is for how many LISTs a second there may be more places than
	// listsInFlight: enough for 2,000 first reads within a second at an API
	// server 80 ms away, growth included; one nearby needs no more. It takes 100
	// streams a connection (apiserver pkg/server/secure_serving.go, v1.37), and
	// each request beyond them opens a connection of its own.
	listsGoal = 4000
	// consistentInFlight is how many of them may have the API server ask etcd, of
	// Secrets and of ConfigMaps each: what they learn does for the others.
	consistentInFlight = 16
	// listPatience is how long one LIST may take.
	listPatience = 10 * time.Second
	// answerPatience is how long a request is held while the API server fails.
	answerPatience = 30 * time.Second
	// retryFirst and retryMost bound the wait between two attempts.
	retryFirst, retryMost = 100 * time.Millisecond, 5 * time.Second
	// rewatchFirst and rewatchMost bound the wait before a WATCH that failed is
	// opened again; a reflector's own: client-go tools/cache/reflector.go, v1.37.
	rewatchFirst, rewatchMost = 800 * time.Millisecond, 30 * time.Second
	// silence is after how long without an event or a bookmark, which come once
	// a minute, a WATCH no longer vouches for its copy; twice as long ends it.
	silence = 90 * time.Second
	// immutableCheck is the time between two LISTs of an immutable object that
	// a stream still follows. The kubelet ends such streams at its first read,
	// so there are few and not for long.
	immutableCheck = time.Minute
	// watchJitter spreads the opening of WATCHes that wait for their token.
	watchJitter = 0.5
)

// Upstream is the API server; *upstream.Client through FromClient. The methods
// are called concurrently and their errors are those of package upstream.
type Upstream interface {
	// List asks for the object at a version: "" for the most recent, "0" for
	// any, a number with match NotOlderThan. A missing object is nil.
	List(ctx context.Context, key shape.Key, version, match string) (string, *wire.Object, error)
	// Watch asks for what happens after a version, with bookmarks. ctx bounds
	// the whole WATCH.
	Watch(ctx context.Context, key shape.Key, version string) (Events, error)
}

// Events is an open WATCH. Close may be called while Next waits, and ends it.
type Events interface {
	Next() (wire.Event, error)
	Close()
}

// FromClient makes a client the guard's Upstream.
func FromClient(c *upstream.Client) Upstream { return client{c} }

type client struct{ *upstream.Client }

func (c client) Watch(ctx context.Context, key shape.Key, version string) (Events, error) {
	events, err := c.Client.Watch(ctx, key, version)
	if err != nil {
		return nil, err
	}
	return events, nil
}

// Options of a guard.
type Options struct {
	// Config has been validated.
	Config config.Proxy
	// Upstream answers with the kubelet's own rights.
	Upstream Upstream
	// PassThrough takes the requests that the guard leaves to the API server.
	PassThrough http.Handler
	// Rand is in [0, 1) and safe for concurrent use; nil for a random one.
	Rand func() float64
	Log  *slog.Logger
}

func (o *Options) complete() {
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}
