package nri

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/containerd/nri/pkg/api"
	"github.com/containerd/nri/pkg/stub"
	"github.com/containerd/ttrpc"
)

// Name and index under which the runtime knows the plugin. Indexes order the
// plugins: a high one comes after those that change containers.
const (
	pluginName  = "nodekeeper"
	pluginIndex = "90"
)

// dialTimeout bounds the connect to the runtime's socket.
const dialTimeout = 5 * time.Second

// errSilent is a runtime that took the registration and then said nothing.
var errSilent = errors.New("the runtime took the registration but did not configure the plugin")

// connection is one registration with the runtime.
type connection struct {
	socket   string
	observer *observer
	log      stubLog
	// patience bounds the registration, until the runtime has configured the
	// observer.
	patience time.Duration
}

// run connects, registers, and returns when the connection is lost or the context
// ends; the error is never nil.
func (c *connection) run(ctx context.Context) error {
	conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "unix", c.socket)
	if err != nil {
		return err
	}
	trunk := newTrunk(conn)
	defer trunk.Close()
	// A stub is good for one connection: after a failed start it would use the
	// dead one again.
	plugin, err := stub.New(c.observer,
		stub.WithLogger(c.log),
		stub.WithPluginName(pluginName),
		stub.WithPluginIdx(pluginIndex),
		stub.WithConnection(trunk),
		// Run returns then; there is nothing else to do.
		stub.WithOnClose(func() {}),
		// One late answer is no reason to miss all that follows. Runtimes before
		// NRI 0.12.5 do not know the policy and drop a late plugin.
		stub.WithFailurePolicy(&api.FailurePolicy{KeepConnected: true}),
		stub.WithTTRPCOptions(
			[]ttrpc.ClientOpts{ttrpc.WithUnaryClientInterceptor(c.register(trunk))},
			[]ttrpc.ServerOpt{ttrpc.WithServerHandshaker(trunk)},
		))
	if err != nil {
		return fmt.Errorf("make the NRI stub: %w", err)
	}
	if err := plugin.Run(ctx); err != nil {
		return err
	}
	return ttrpc.ErrClosed
}

// register bounds the stub's one call, RegisterPlugin, and lets it succeed only
// when the runtime has configured the observer. The stub itself waits for that
// without a bound and with its lock held, so that a runtime that dies or hangs in
// between would hang it for ever: nri pkg/stub/stub.go Start, v0.12.5.
func (c *connection) register(trunk *trunk) ttrpc.UnaryClientInterceptor {
	return func(ctx context.Context, req *ttrpc.Request, reply *ttrpc.Response, _ *ttrpc.UnaryClientInfo, call ttrpc.Invoker) error {
		ctx, cancel := context.WithTimeout(ctx, c.patience)
		defer cancel()
		if err := call(ctx, req, reply); err != nil || reply.GetStatus().GetCode() != 0 {
			return err
		}
		select {
		case <-c.observer.configured:
			return nil
		case <-trunk.gone:
			return ttrpc.ErrClosed
		case <-ctx.Done():
			return errSilent
		}
	}
}
