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

// PodSandboxStatus is part of CRI.
func (s *Server) PodSandboxStatus(_ context.Context, request *runtimeapi.PodSandboxStatusRequest) (*runtimeapi.PodSandboxStatusResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.sandboxes[request.PodSandboxId]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "could not find pod %q", request.PodSandboxId)
	}
	return r.status(request.Verbose), nil
}

// Status is part of CRI.
func (s *Server) Status(context.Context, *runtimeapi.StatusRequest) (*runtimeapi.StatusResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	network := &runtimeapi.RuntimeCondition{Type: runtimeapi.NetworkReady, Status: s.network == "", Message: s.network}
	if s.network != "" {
		network.Reason = "NetworkPluginNotReady"
	}
	return &runtimeapi.StatusResponse{Status: &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{
		{Type: runtimeapi.RuntimeReady, Status: true}, network,
	}}}, nil
}

// ImageStatus is part of CRI.
func (s *Server) ImageStatus(_ context.Context, request *runtimeapi.ImageStatusRequest) (*runtimeapi.ImageStatusResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := request.GetImage().GetImage()
	if !s.images[name] {
		return &runtimeapi.ImageStatusResponse{}, nil
	}
	return &runtimeapi.ImageStatusResponse{Image: &runtimeapi.Image{Id: ID(name), RepoTags: []string{name}}}, nil
}
