package critest

import (
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Server is the runtime. All methods may be called concurrently.
type Server struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	runtimeapi.UnimplementedImageServiceServer

	tb     testing.TB
	socket string

	// mu guards all below.
	mu         sync.Mutex
	serving    *grpc.Server
	ended      chan struct{}
	name       string
	version    string
	sandboxes  map[string]*Sandbox
	containers map[string]*Container
	images     map[string]bool
	network    string
	faults     map[target]*fault
	calls      map[string]int
	acts       []Act
	onAct      func(Act)
}

// Start serves an empty runtime called "cri-o" until the test ends.
func Start(tb testing.TB) *Server {
	tb.Helper()
	// A unix socket's path holds 107 bytes: the test's own directory may be
	// longer.
	dir, err := os.MkdirTemp("", "critest")
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{
		tb:         tb,
		socket:     filepath.Join(dir, "crio.sock"),
		name:       "cri-o",
		version:    "1.34.0",
		sandboxes:  map[string]*Sandbox{},
		containers: map[string]*Container{},
		images:     map[string]bool{},
		faults:     map[target]*fault{},
		calls:      map[string]int{},
	}
	s.Up()
	tb.Cleanup(func() {
		s.Down()
		os.RemoveAll(dir)
	})
	return s
}

// Socket is where the runtime listens.
func (s *Server) Socket() string { return s.socket }

// Down ends the runtime: calls in flight fail, and the socket is gone. The
// records stay. It returns when nothing is served any more.
func (s *Server) Down() {
	s.mu.Lock()
	serving, ended := s.serving, s.ended
	s.serving = nil
	s.mu.Unlock()
	if serving != nil {
		serving.Stop()
		<-ended
	}
}

// Up serves again after Down, on the same socket.
func (s *Server) Up() {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.serving != nil {
		return
	}
	listener, err := net.Listen("unix", s.socket)
	if err != nil {
		s.tb.Fatal(err)
	}
	serving := grpc.NewServer(grpc.UnaryInterceptor(s.intercept))
	runtimeapi.RegisterRuntimeServiceServer(serving, s)
	runtimeapi.RegisterImageServiceServer(serving, s)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		// It ends with Stop; an earlier error shows as calls that fail.
		_ = serving.Serve(listener)
	}()
	s.serving, s.ended = serving, ended
}

// SetVersion changes what the runtime calls itself.
func (s *Server) SetVersion(name, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.name, s.version = name, version
}

// SetImages replaces the images that the runtime has, by their full names. It
// has none at first.
func (s *Server) SetImages(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.images)
	for _, name := range names {
		s.images[name] = true
	}
}

// SetNetwork says why the pod network is not ready; empty for ready, as at first.
func (s *Server) SetNetwork(trouble string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.network = trouble
}
