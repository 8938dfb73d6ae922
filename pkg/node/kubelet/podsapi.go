package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	podsv1alpha1 "k8s.io/kubelet/pkg/apis/pods/v1alpha1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// maxAnswer bounds one answer of the kubelet, in bytes. A node's 500 pods are
// 3 to 10 MB, and more than gRPC's default of 4 MiB.
const maxAnswer = 64 << 20

// podsAPI lists the pods over the kubelet's Pods API socket.
//
// Each look asks ListPods anew rather than following WatchPods. A watch that
// is silent cannot be told from a kubelet that hangs, and the server drops
// slow watchers; a list is one line in the kubelet's log and far from its
// limit of 100 calls a second (kubelet pkg/kubelet/apis/pods/server.go and
// pkg/kubelet/server/server.go ListenAndServePodsServer, v1.37).
type podsAPI struct {
	socket string

	connecting sync.Mutex // guards conn
	conn       *grpc.ClientConn
}

func newPodsAPI(socket string) *podsAPI { return &podsAPI{socket: socket} }

// list returns the kubelet's pods. The error is ErrNoPodsAPI if there is no
// socket, and ErrSourcesNotReady if the kubelet says so.
func (p *podsAPI) list(ctx context.Context) ([]node.PodView, error) {
	if p.socket == "" {
		return nil, fmt.Errorf("%w: kubelet.podsAPISocket is empty", ErrNoPodsAPI)
	}
	if _, err := os.Stat(p.socket); errors.Is(err, fs.ErrNotExist) {
		p.close() // what it led to is gone with the socket
		return nil, fmt.Errorf("%w: %s does not exist (Kubernetes before 1.37, gate PodsAPI off, or the kubelet has not started)", ErrNoPodsAPI, p.socket)
	}
	conn, err := p.connection()
	if err != nil {
		return nil, fmt.Errorf("kubelet Pods API %s: %w", p.socket, err)
	}
	answer, err := podsv1alpha1.NewPodsClient(conn).ListPods(ctx, &podsv1alpha1.ListPodsRequest{})
	if err != nil {
		return nil, p.explain(conn, err)
	}
	views := make([]node.PodView, 0, len(answer.Pods))
	for i, raw := range answer.Pods {
		pod, err := decodeProto(raw)
		if err != nil {
			return nil, fmt.Errorf("kubelet Pods API %s: pod %d of %d: %w", p.socket, i+1, len(answer.Pods), err)
		}
		answer.Pods[i] = nil // the bytes may go while the rest is read
		views = appendView(views, pod)
	}
	return views, nil
}

// explain turns a call's error into one for people, and drops a connection
// that is lost: the next look then dials at once instead of waiting out
// gRPC's back-off. A call that only took too long keeps its connection, for a
// stopped kubelet would otherwise find one more in its backlog for each look.
func (p *podsAPI) explain(conn *grpc.ClientConn, err error) error {
	said := status.Convert(err)
	switch said.Code() {
	case codes.FailedPrecondition:
		return fmt.Errorf("kubelet Pods API: %w: %s", ErrSourcesNotReady, said.Message())
	case codes.DeadlineExceeded:
		return fmt.Errorf("kubelet Pods API %s: no answer in time: %w", p.socket, context.DeadlineExceeded)
	case codes.Unimplemented:
		return fmt.Errorf("kubelet Pods API %s: the server there does not know ListPods of v1alpha1: %s", p.socket, said.Message())
	case codes.Unavailable:
		p.drop(conn)
	}
	return fmt.Errorf("kubelet Pods API %s: %s: %s", p.socket, said.Code(), said.Message())
}

// connection returns the connection, made on first use. Making it does not
// block: gRPC dials within the call and ends with its context.
func (p *podsAPI) connection() (*grpc.ClientConn, error) {
	p.connecting.Lock()
	defer p.connecting.Unlock()
	if p.conn != nil {
		return p.conn, nil
	}
	// A dialer of our own, because gRPC's unix: scheme would read a path as
	// part of a URL.
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", p.socket)
	}
	conn, err := grpc.NewClient("passthrough:///kubelet",
		grpc.WithContextDialer(dial),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)),
		grpc.WithDisableServiceConfig(),
	)
	if err != nil {
		return nil, err
	}
	p.conn = conn
	return conn, nil
}

// drop closes a connection unless another look has replaced it already.
func (p *podsAPI) drop(conn *grpc.ClientConn) {
	p.connecting.Lock()
	defer p.connecting.Unlock()
	if p.conn == conn {
		p.conn = nil
		conn.Close()
	}
}

func (p *podsAPI) close() error {
	p.connecting.Lock()
	defer p.connecting.Unlock()
	if p.conn == nil {
		return nil
	}
	conn := p.conn
	p.conn = nil
	return conn.Close()
}
