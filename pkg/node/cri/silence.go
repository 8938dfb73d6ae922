package cri

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// probeTimeout is how long a probe waits for its answer: more than the two
// minutes after which a silent runtime may be restarted, so that a slow answer
// still counts.
const probeTimeout = 150 * time.Second

// silence measures how long the runtime has answered nothing at all. A list
// that took too long is no proof of that: while lists fail, a probe waits for
// the answer to the smallest question that there is, on a connection of its
// own. There is one probe at a time, so that neither goroutines nor connections
// pile up before a runtime that is stopped.
type silence struct {
	socket string

	// mu guards all below.
	mu sync.Mutex
	// began is on the boot clock; 0 while the runtime answers.
	began time.Duration
	// cancel ends the probe in flight; nil if there is none.
	cancel context.CancelFunc
	closed bool
	probes sync.WaitGroup
}

// answered ends the silence.
func (s *silence) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began = 0
	if s.cancel != nil {
		s.cancel()
	}
}

// unanswered tells how long the silence has lasted at a time on the boot clock,
// when a call has failed, and sees to it that a probe waits for its end. It does
// not wait itself.
func (s *silence) unanswered(now time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.began == 0 {
		s.began = now
	}
	if s.cancel == nil && !s.closed {
		ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
		s.cancel = cancel
		s.probes.Go(func() {
			answered := s.probe(ctx)
			cancel()
			s.mu.Lock()
			defer s.mu.Unlock()
			s.cancel = nil
			if answered {
				s.began = 0
			}
		})
	}
	return now - s.began
}

// close ends the probe in flight and waits until it has ended. There is none
// afterwards.
func (s *silence) close() {
	s.mu.Lock()
	s.closed = true
	if s.cancel != nil {
		s.cancel()
	}
	s.mu.Unlock()
	s.probes.Wait()
}

// probe connects once, asks for the version once, and tells whether anything
// came back, also an error. Where something of our own kept it from asking, the
// runtime is not to blame: that counts as an answer.
func (s *silence) probe(ctx context.Context) bool {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", s.socket)
	if err != nil {
		return !nobodyListens(err)
	}
	defer conn.Close()
	unused := make(chan net.Conn, 1)
	unused <- conn
	dial := func(context.Context, string) (net.Conn, error) {
		select {
		case conn := <-unused:
			return conn, nil
		default:
			return nil, errors.New("the probe's connection was lost")
		}
	}
	client, err := grpc.NewClient("passthrough:///cri",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(dial),
		grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: probeTimeout}))
	if err != nil {
		return true
	}
	defer client.Close()
	// gRPC makes errors itself too; what the runtime has sent has a header, or,
	// where there is only an error, a trailer.
	var header, trailer metadata.MD
	_, err = runtimeapi.NewRuntimeServiceClient(client).Version(ctx, &runtimeapi.VersionRequest{},
		grpc.Header(&header), grpc.Trailer(&trailer))
	return err == nil || len(header) > 0 || len(trailer) > 0
}

// nobodyListens tells whether a connection failed for the runtime's sake: there
// is no socket, nobody listens on it, or nobody takes connections from its
// queue. Anything else (no permission, no file descriptor left) is our own.
func nobodyListens(err error) bool {
	return slices.ContainsFunc([]error{
		syscall.ENOENT, syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EAGAIN, context.Canceled, context.DeadlineExceeded,
	}, func(of error) bool { return errors.Is(err, of) })
}
