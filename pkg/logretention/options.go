package logretention

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// ErrNoRecord is wrapped by Options.Status where the runtime answered that it
// has no such container. Every other error means that nothing is known.
var ErrNoRecord = errors.New("the runtime has no such container")

// DefaultStorage is CRI-O's storage root, in which a container's persistent
// directory holds conmon's exit and oom files.
const DefaultStorage = "/var/lib/containers/storage"

// Options are what a Keeper is made of.
type Options struct {
	Config config.Logs
	// Root is the record root, Node the node's name, empty until a look knows it.
	Root, Node string
	// Clock gives time and boot ID.
	Clock node.Clock
	// Status asks the runtime for one container: its state, times, exit code,
	// reason and log path. It may take seconds, and is called concurrently.
	Status func(ctx context.Context, containerID string) (node.Container, error)
	// Journal writes one entry into the journal; nil if there is none. It is
	// called by one goroutine.
	Journal func(fields map[string]string, message string, priority int) error
	Log     *slog.Logger
	// Crashed is told each record of an attempt that ended in trouble; nil for
	// nobody. It must not block.
	Crashed func(record.Entry)
	// Poke asks for a look at the node soon; nil for nobody. It must not block.
	Poke func()
	// Storage is DefaultStorage if empty.
	Storage string
	// Watches is the most directories that are watched; DefaultWatches if 0.
	Watches int
}

// DefaultWatches is enough for more static pods than a node has, and a small
// part of what the kernel allows.
const DefaultWatches = 1024

func (o Options) withDefaults() Options {
	o.Storage = cmp.Or(o.Storage, DefaultStorage)
	o.Watches = cmp.Or(o.Watches, DefaultWatches)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Crashed == nil {
		o.Crashed = func(record.Entry) {}
	}
	if o.Poke == nil {
		o.Poke = func() {}
	}
	return o
}
