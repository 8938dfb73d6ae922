package critest

import (
	"context"
	"path"
	"sync"
	"time"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// target is one method, for one record or ("") for all.
type target struct{ method, id string }

// fault is what is wrong with a target.
type fault struct {
	err   error
	delay time.Duration
	// held is closed when the calls may go on; nil for no holding.
	held chan struct{}
}

// Fail has a method ("StopContainer") fail for one ID (of an image: its name),
// or for all if the ID is empty, with an error that may be a gRPC status. Nil undoes it.
func (s *Server) Fail(method, id string, err error) {
	s.change(method, id, func(f *fault) { f.err = err })
}

// Delay has a method take longer. It ends early with the caller's context.
func (s *Server) Delay(method, id string, d time.Duration) {
	s.change(method, id, func(f *fault) { f.delay = d })
}

// Hold has calls of a method hang until release is called or they are given
// up. Release may be called more than once; the end of the test releases too.
func (s *Server) Hold(method, id string) (release func()) {
	held := make(chan struct{})
	s.change(method, id, func(f *fault) { f.held = held })
	var once sync.Once
	release = func() {
		once.Do(func() {
			s.change(method, id, func(f *fault) {
				if f.held == held {
					f.held = nil
				}
			})
			close(held)
		})
	}
	s.tb.Cleanup(release)
	return release
}

// Calls tells how often a method was called, also in vain.
func (s *Server) Calls(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method]
}

// AllCalls tells how many calls of any method there were.
func (s *Server) AllCalls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := 0
	for _, n := range s.calls {
		all += n
	}
	return all
}

func (s *Server) change(method, id string, change func(*fault)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := target{method, id}
	if s.faults[at] == nil {
		s.faults[at] = &fault{}
	}
	change(s.faults[at])
}

// intercept counts a call and does what is wrong with it.
func (s *Server) intercept(ctx context.Context, request any, call *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	method := path.Base(call.FullMethod)
	s.mu.Lock()
	s.calls[method]++
	var wrong fault
	for _, at := range []target{{method, ""}, {method, recordID(request)}} {
		if f := s.faults[at]; f != nil {
			wrong = *f
		}
	}
	s.mu.Unlock()
	if wrong.held != nil {
		select {
		case <-wrong.held:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if wrong.delay > 0 {
		select {
		case <-time.After(wrong.delay):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if wrong.err != nil {
		return nil, wrong.err
	}
	return next(ctx, request)
}

// recordID is the ID that a request is about, or nothing.
func recordID(request any) string {
	switch r := request.(type) {
	case interface{ GetContainerId() string }:
		return r.GetContainerId()
	case interface{ GetPodSandboxId() string }:
		return r.GetPodSandboxId()
	case *runtimeapi.ImageStatusRequest:
		return r.GetImage().GetImage()
	}
	return ""
}
