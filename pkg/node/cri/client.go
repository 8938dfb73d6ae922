package cri

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// maxMessage is the kubelet's own limit on a CRI answer: the list of all
// containers with their annotations passes gRPC's default of 4 MiB.
// kubelet: k8s.io/cri-client/pkg remote_runtime.go maxMsgSize.
const maxMessage = 16 << 20

// reconnect is how a lost runtime is called again. The longest pause is short,
// so that a restarted runtime is seen by the next look.
var reconnect = grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
	MinConnectTimeout: 2 * time.Second,
}

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
}

// New returns a client of the runtime at a socket path. It does not connect:
// an absent runtime shows as an error of the calls. Close it after use.
func New(socket string, log *slog.Logger) *Client {
	c := &Client{socket: socket, log: log}
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	c.conn, c.broken = grpc.NewClient("passthrough:///cri",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(dial),
		grpc.WithConnectParams(reconnect),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)))
	if c.broken == nil {
		c.api = runtimeapi.NewRuntimeServiceClient(c.conn)
	}
	return c
}

// Socket is the path that the client connects to.
func (c *Client) Socket() string { return c.socket }

// Close ends the connection and all calls in flight.
func (c *Client) Close() error {
	if c.conn == nil {
		return nil
	}
	return c.conn.Close()
}

// Version returns the runtime's name and version, such as "cri-o", "1.34.0".
func (c *Client) Version(ctx context.Context) (name, version string, err error) {
	if c.broken != nil {
		return "", "", c.broken
	}
	answer, err := c.api.Version(ctx, &runtimeapi.VersionRequest{})
	if err != nil {
		return "", "", c.explain("ask for the version", err)
	}
	return answer.RuntimeName, answer.RuntimeVersion, nil
}

// NotFound tells that a call failed because the runtime has no such record.
func NotFound(err error) bool { return status.Code(err) == codes.NotFound }

// explain says what was tried on which socket. The gRPC status stays inside.
func (c *Client) explain(what string, err error) error {
	if status.Code(err) == codes.Unavailable {
		_, statErr := os.Stat(c.socket)
		if errors.Is(statErr, fs.ErrNotExist) {
			return fmt.Errorf("%s: CRI socket %s does not exist: is the container runtime running? (%w)", what, c.socket, err)
		}
	}
	return fmt.Errorf("%s through CRI socket %s: %w", what, c.socket, err)
}
