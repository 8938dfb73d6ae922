package upstream

import (
	"context"
	"io"
	"sync"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/wire"
)

// Events is an open WATCH. Next is for one goroutine; Close may be called from
// any, and more than once, and ends a Next that waits.
type Events struct {
	reader *wire.EventReader
	body   io.Closer
	cancel context.CancelFunc
	once   sync.Once
}

// Next waits for the next event. io.EOF is for a WATCH that the server ended.
func (e *Events) Next() (wire.Event, error) { return e.reader.Next() }

// Close ends the WATCH.
func (e *Events) Close() {
	e.once.Do(func() {
		e.cancel()
		e.body.Close()
	})
}
