package critest

import (
	"context"
	"slices"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Act is something that the runtime was told to do and did.
type Act struct {
	// Method is CRI's: "StopContainer", "RemoveContainer", "StopPodSandbox" or
	// "RemovePodSandbox".
	Method string
	// ID is the container's or the sandbox's.
	ID string
	// Grace is StopContainer's own.
	Grace time.Duration
	// Deadline is how much time the caller left when the act began; 0 for no
	// bound.
	Deadline time.Duration
}

// Acts returns what was done, in order. Acts that a fault prevented are not
// among them.
func (s *Server) Acts() []Act {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.acts)
}

// OnAct has a function called after each act, before its caller hears of it: a
// place for what a kubelet would do next. It may use the Server.
func (s *Server) OnAct(do func(Act)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onAct = do
}

// StopContainer is part of CRI.
func (s *Server) StopContainer(ctx context.Context, request *runtimeapi.StopContainerRequest) (*runtimeapi.StopContainerResponse, error) {
	act := Act{Method: "StopContainer", ID: request.ContainerId, Grace: time.Duration(request.Timeout) * time.Second}
	return &runtimeapi.StopContainerResponse{}, s.act(ctx, act, func() error {
		// CRI-O: no error if there is no such container.
		if r, ok := s.containers[act.ID]; ok {
			r.exit(time.Now())
		}
		return nil
	})
}

// RemoveContainer is part of CRI.
func (s *Server) RemoveContainer(ctx context.Context, request *runtimeapi.RemoveContainerRequest) (*runtimeapi.RemoveContainerResponse, error) {
	act := Act{Method: "RemoveContainer", ID: request.ContainerId}
	return &runtimeapi.RemoveContainerResponse{}, s.act(ctx, act, func() error {
		delete(s.containers, act.ID)
		return nil
	})
}

// StopPodSandbox is part of CRI.
func (s *Server) StopPodSandbox(ctx context.Context, request *runtimeapi.StopPodSandboxRequest) (*runtimeapi.StopPodSandboxResponse, error) {
	act := Act{Method: "StopPodSandbox", ID: request.PodSandboxId}
	return &runtimeapi.StopPodSandboxResponse{}, s.act(ctx, act, func() error {
		if r, ok := s.sandboxes[act.ID]; ok {
			r.NotReady = true
		}
		for _, c := range s.containers {
			if c.SandboxID == act.ID {
				c.exit(time.Now())
			}
		}
		return nil
	})
}

// RemovePodSandbox is part of CRI.
func (s *Server) RemovePodSandbox(ctx context.Context, request *runtimeapi.RemovePodSandboxRequest) (*runtimeapi.RemovePodSandboxResponse, error) {
	act := Act{Method: "RemovePodSandbox", ID: request.PodSandboxId}
	return &runtimeapi.RemovePodSandboxResponse{}, s.act(ctx, act, func() error {
		delete(s.sandboxes, act.ID)
		for id, c := range s.containers {
			if c.SandboxID == act.ID {
				delete(s.containers, id)
			}
		}
		return nil
	})
}

// act does something under the lock, records it, and tells whoever listens.
func (s *Server) act(ctx context.Context, act Act, do func() error) error {
	if deadline, ok := ctx.Deadline(); ok {
		act.Deadline = time.Until(deadline)
	}
	s.mu.Lock()
	err := do()
	if err == nil {
		s.acts = append(s.acts, act)
	}
	tell := s.onAct
	s.mu.Unlock()
	if err == nil && tell != nil {
		tell(act)
	}
	return err
}
