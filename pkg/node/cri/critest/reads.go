package critest

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Version is part of CRI.
func (s *Server) Version(context.Context, *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &runtimeapi.VersionResponse{
		Version: "0.1.0", RuntimeName: s.name, RuntimeVersion: s.version, RuntimeApiVersion: "v1",
	}, nil
}

// ListPodSandbox is part of CRI. Filters are ignored.
func (s *Server) ListPodSandbox(context.Context, *runtimeapi.ListPodSandboxRequest) (*runtimeapi.ListPodSandboxResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := &runtimeapi.ListPodSandboxResponse{}
	for _, r := range s.sandboxes {
		answer.Items = append(answer.Items, r.message())
	}
	return answer, nil
}

// ListContainers is part of CRI. Filters are ignored.
func (s *Server) ListContainers(context.Context, *runtimeapi.ListContainersRequest) (*runtimeapi.ListContainersResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := &runtimeapi.ListContainersResponse{}
	for _, r := range s.containers {
		answer.Containers = append(answer.Containers, r.message())
	}
	return answer, nil
}

// ContainerStatus is part of CRI.
func (s *Server) ContainerStatus(_ context.Context, request *runtimeapi.ContainerStatusRequest) (*runtimeapi.ContainerStatusResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.containers[request.ContainerId]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "could not find container %q", request.ContainerId)
	}
	return r.status(request.Verbose), nil
}
