package cri

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// maxMessage is the largest answer that is read: the list of all containers
// with their annotations passes gRPC's default of 4 MiB. The kubelet reads
// 16 MiB (k8s.io/cri-client/pkg utils.go maxMsgSize), and the same lists: ours
// must not be the first limit that a node reaches.
const maxMessage = 32 << 20

// reconnect is how a lost runtime is called again. The longest pause is short,
// so that a restarted runtime is seen by the next look. A runtime that takes
// the connection and is silent is not called again and again: it would find all
// these connections in its queue.
var reconnect = grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
	MinConnectTimeout: probeTimeout,
}

// wakeTimeout bounds the wait for a connection to a runtime that is back, and
// wakeRound each part of it.
const (
	wakeTimeout = time.Second
	wakeRound   = 20 * time.Millisecond
)

// Client is one connection to a CRI runtime. It connects with the first call
// and again after every loss. All methods may be called concurrently and end
// with the caller's context; a context without a deadline may block for ever.
type Client struct {
	socket string
	log    *slog.Logger
	conn   *grpc.ClientConn
	// broken is why there is no connection: a socket path that gRPC refuses.
	broken error
	api    runtimeapi.RuntimeServiceClient
	images runtimeapi.ImageServiceClient

	silence silence
}

// New returns a client of the runtime at a socket path. It does not connect:
// an absent runtime shows as an error of the calls. Close it after use.
func New(socket string, log *slog.Logger) *Client {
	c := &Client{socket: socket, log: log, silence: silence{socket: socket}}
	dial := func(ctx context.Context, _ string) (net.Conn, error) { return c.dial(ctx) }
	c.conn, c.broken = grpc.NewClient("passthrough:///cri",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(dial),
		grpc.WithConnectParams(reconnect),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)))
	if c.broken == nil {
		c.api = runtimeapi.NewRuntimeServiceClient(c.conn)
		c.images = runtimeapi.NewImageServiceClient(c.conn)
	}
	return c
}

// Socket is the path that the client connects to.
func (c *Client) Socket() string { return c.socket }

// Close ends the connection and all calls in flight.
func (c *Client) Close() error {
	c.silence.close()
	if c.conn == nil {
		return nil
	}
	return c.conn.Close()
}

func (c *Client) dial(ctx context.Context) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", c.socket)
}

// service returns what calls go through. After a loss, gRPC answers with the
// old error until its pause is over; a look just before an act must not take
// that for the state of now. So the socket is tried, and if somebody listens
// on it the pause is cut short. A connection that was taken and is not answered
// is the state of now.
func (c *Client) service(ctx context.Context) (runtimeapi.RuntimeServiceClient, error) {
	if c.broken != nil {
		return nil, c.broken
	}
	if c.conn.GetState() == connectivity.Connecting {
		c.await(ctx, connectivity.Connecting)
	}
	if state := c.conn.GetState(); state == connectivity.Ready || state == connectivity.Connecting {
		return c.api, nil
	}
	ctx, cancel := context.WithTimeout(ctx, wakeTimeout)
	defer cancel()
	if probe, err := c.dial(ctx); err == nil {
		_ = probe.Close()
		c.wake(ctx)
	}
	return c.api, nil
}

// wake waits for the connection. The pause may begin only after it was cut
// short, so it is cut again and again.
func (c *Client) wake(ctx context.Context) {
	for ctx.Err() == nil {
		state := c.conn.GetState()
		if state == connectivity.Ready || state == connectivity.Shutdown {
			return
		}
		c.conn.Connect()
		c.conn.ResetConnectBackoff()
		c.await(ctx, state)
	}
}

// await waits a moment for the connection to leave a state.
func (c *Client) await(ctx context.Context, state connectivity.State) {
	ctx, cancel := context.WithTimeout(ctx, wakeRound)
	defer cancel()
	c.conn.WaitForStateChange(ctx, state)
}

// Version returns the runtime's name and version, such as "cri-o", "1.34.0".
func (c *Client) Version(ctx context.Context) (name, version string, err error) {
	api, err := c.service(ctx)
	if err != nil {
		return "", "", err
	}
	answer, err := api.Version(ctx, &runtimeapi.VersionRequest{})
	if err != nil {
		return "", "", c.explain("ask for the version", err)
	}
	return answer.RuntimeName, answer.RuntimeVersion, nil
}

// NotFound tells that a call failed because the runtime has no such record.
func NotFound(err error) bool { return status.Code(err) == codes.NotFound }

// explain says what was tried on which socket, and where there is no
// connection, why. The gRPC status stays inside.
func (c *Client) explain(what string, err error) error {
	switch code := status.Code(err); {
	case code == codes.ResourceExhausted:
		return fmt.Errorf("%s: the answer is too large (we read up to %d MiB); the runtime is not at fault: remove dead pods and containers, or large annotations (%w)",
			what, maxMessage>>20, err)
	case code == codes.DeadlineExceeded && c.conn.GetState() == connectivity.Connecting:
		return fmt.Errorf("%s: CRI socket %s takes connections, but did not answer (%w)", what, c.socket, err)
	case code != codes.Unavailable:
		return fmt.Errorf("%s through CRI socket %s: %w", what, c.socket, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), wakeTimeout)
	defer cancel()
	probe, dialErr := c.dial(ctx)
	switch {
	case dialErr == nil:
		_ = probe.Close()
		return fmt.Errorf("%s: CRI socket %s takes connections, but did not answer (%w)", what, c.socket, err)
	case errors.Is(dialErr, fs.ErrNotExist):
		return fmt.Errorf("%s: CRI socket %s does not exist: is the container runtime running? (%w)", what, c.socket, err)
	case nobodyListens(dialErr):
		return fmt.Errorf("%s: nobody listens on CRI socket %s: is the container runtime running? (%w)", what, c.socket, err)
	}
	return fmt.Errorf("%s: we cannot connect to CRI socket %s, the runtime is not at fault: %w (%w)", what, c.socket, dialErr, err)
}
