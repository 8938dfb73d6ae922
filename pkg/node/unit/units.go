package unit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/nodekeeper/nodekeeper/pkg/node/process"
)

// dialTimeout bounds one attempt to connect, also under a longer context.
const dialTimeout = 3 * time.Second

// Units asks systemd about services and acts on them. All methods may be
// called concurrently; each ends with its context.
type Units struct {
	log  *slog.Logger
	host process.Host
	dial dialer
	jobs journal

	// mu guards conn.
	mu   sync.Mutex
	conn systemd
	// dialing is held by the one who connects; it is not mu, so that a
	// connection attempt that hangs holds up nobody's context.
	dialing chan struct{}
}

// New returns the services of this host. It connects with the first call and
// again after every loss. Close it after use.
func New(log *slog.Logger) *Units { return newUnits(log, process.ThisHost(), dialSystemd) }

func newUnits(log *slog.Logger, host process.Host, dial dialer) *Units {
	return &Units{log: log, host: host, dial: dial, jobs: journalctl, dialing: make(chan struct{}, 1)}
}

// Close ends the connection. A later call would connect again.
func (u *Units) Close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.conn != nil {
		u.conn.Close()
		u.conn = nil
	}
}

// connection returns the connection, made anew if there is none.
func (u *Units) connection(ctx context.Context) (systemd, error) {
	if c := u.current(); c != nil {
		return c, nil
	}
	select {
	case u.dialing <- struct{}{}:
		defer func() { <-u.dialing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if c := u.current(); c != nil {
		return c, nil
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	c, err := u.dial(ctx)
	if err != nil {
		return nil, err
	}
	u.log.Debug("connected to systemd")
	u.mu.Lock()
	u.conn = c
	u.mu.Unlock()
	return c, nil
}

// current returns the connection unless it is known to be lost.
func (u *Units) current() systemd {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.conn != nil && !u.conn.Alive() {
		u.conn.Close()
		u.conn = nil
	}
	return u.conn
}

// with runs one question on a connection. A question that failed because the
// connection was lost is put once more on a new one if it may be repeated.
func (u *Units) with(ctx context.Context, repeatable bool, ask func(systemd) error) error {
	for {
		c, err := u.connection(ctx)
		if err != nil {
			return err
		}
		err = ask(c)
		if err == nil || answered(err) || ctx.Err() != nil {
			return err
		}
		u.drop(c)
		if !repeatable {
			return err
		}
		repeatable = false
	}
}

// answered tells that an error is an answer, and not a lost connection.
func answered(err error) bool {
	var reply dbus.Error
	if !errors.As(err, &reply) {
		return errors.Is(err, errNoLogind)
	}
	switch reply.Name {
	// The bus answers in its place, or in place of a lost one.
	case "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.Disconnected":
		return false
	}
	return true
}

func (u *Units) drop(c systemd) {
	c.Close()
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.conn == c {
		u.conn = nil
	}
}

// explain says what was tried on which unit.
func explain(what, unit string, err error) error {
	return fmt.Errorf("%s %s: %w", what, unit, err)
}
