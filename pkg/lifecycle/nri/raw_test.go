package nri_test

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/containerd/nri/pkg/api"
	"github.com/containerd/nri/pkg/net/multiplex"
	"github.com/containerd/ttrpc"
)

// rawRuntime is a runtime that does only what the test says, to do it wrong.
type rawRuntime struct {
	plugin api.PluginService
	// trunk takes bytes that no runtime would send.
	trunk net.Conn
	// gone is closed with the connection.
	gone        chan struct{}
	name, index string
}

// startRawRuntime serves connections to a socket with act, which is called when
// the plugin has registered. The connection ends with it.
func startRawRuntime(t *testing.T, socket string, act func(*rawRuntime)) *wire {
	t.Helper()
	return lay(t, socket, func(conn net.Conn) {
		// A frame for a part that is not open yet would be lost.
		mux := multiplex.Multiplex(conn, multiplex.WithBlockedRead())
		defer mux.Close()
		calls, err := mux.Open(multiplex.PluginServiceConn)
		if err != nil {
			t.Error(err)
			return
		}
		gone := make(chan struct{})
		client := ttrpc.NewClient(calls, ttrpc.WithOnClose(func() { close(gone) }))
		defer client.Close()
		registered := make(chan *api.RegisterPluginRequest, 1)
		server, err := ttrpc.NewServer()
		if err != nil {
			t.Error(err)
			return
		}
		api.RegisterRuntimeService(server, registry(registered))
		listener, err := mux.Listen(multiplex.RuntimeServiceConn)
		if err != nil {
			t.Error(err)
			return
		}
		var serving sync.WaitGroup
		serving.Go(func() { server.Serve(context.Background(), listener) })
		defer serving.Wait()
		// Not Close: what was asked is answered first.
		defer server.Shutdown(context.Background())
		mux.Unblock()
		select {
		case r := <-registered:
			act(&rawRuntime{plugin: api.NewPluginClient(client), trunk: conn, gone: gone, name: r.PluginName, index: r.PluginIdx})
		case <-gone:
		}
	})
}

type registry chan *api.RegisterPluginRequest

func (r registry) RegisterPlugin(_ context.Context, req *api.RegisterPluginRequest) (*api.Empty, error) {
	r <- req
	return &api.Empty{}, nil
}

func (r registry) UpdateContainers(context.Context, *api.UpdateContainersRequest) (*api.UpdateContainersResponse, error) {
	return &api.UpdateContainersResponse{}, nil
}
