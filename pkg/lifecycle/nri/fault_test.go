package nri_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/containerd/nri/pkg/api"
	"github.com/containerd/nri/pkg/net/multiplex"

	"github.com/nodekeeper/nodekeeper/pkg/lifecycle"
)

// deaf keeps a connection open and does nothing with it.
func deaf(conn net.Conn) {
	// Read nothing for as long as the other side is there.
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return
	}
	raw.Read(func(uintptr) bool { return false })
}

func TestStuckRuntimeIsGivenUp(t *testing.T) {
	silent := func(t *testing.T, socket string) {
		startRawRuntime(t, socket, func(raw *rawRuntime) { <-raw.gone })
	}
	for name, c := range map[string]struct {
		serve    func(*testing.T, string)
		patience time.Duration
		says     string
	}{
		"reads nothing": {func(t *testing.T, socket string) { lay(t, socket, deaf) }, 50 * time.Millisecond, "register"},
		// Long enough for a registration on a busy machine, which comes first.
		"configures never": {silent, 2 * time.Second, "did not configure"},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, func(s *settings) { s.patience = c.patience })
			r.paused(t)
			c.serve(t, r.socket)
			r.again(t)
			r.paused(t)
			if is, _, _, err := r.State(); is || err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("State is %v, %v", is, err)
			}
		})
	}
}

func TestRuntimeDiesBeforeItConfigures(t *testing.T) {
	r := start(t)
	r.paused(t)
	startRawRuntime(t, r.socket, func(*rawRuntime) {})
	r.again(t)
	r.paused(t)
	if is, _, _, err := r.State(); is || err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("State is %v, %v: want that the connection is closed", is, err)
	}
}

func TestGarbageInsteadOfNRI(t *testing.T) {
	noise := make([]byte, 64<<10)
	source := rand.NewChaCha8([32]byte{1})
	source.Read(noise)
	for name, bytes := range map[string][]byte{
		"noise":         noise,
		"HTTP":          []byte("HTTP/1.1 400 Bad Request\r\n\r\n"),
		"frame too big": frame(multiplex.PluginServiceConn, 1<<31, nil),
		"bad call":      frame(multiplex.PluginServiceConn, 5000, noise[:5000]),
		"bad answer":    frame(multiplex.RuntimeServiceConn, 5000, noise[:5000]),
		"half a frame":  frame(multiplex.PluginServiceConn, 100, noise[:10]),
		"unknown part":  frame(77, 10, noise[:10]),
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, func(s *settings) { s.patience = 200 * time.Millisecond })
			r.paused(t)
			lay(t, r.socket, func(conn net.Conn) {
				conn.Write(bytes)
				io.Copy(io.Discard, conn)
			})
			r.again(t)
			r.paused(t)
			if is, _, _, err := r.State(); is || err == nil {
				t.Errorf("State is %v, %v", is, err)
			}
		})
	}
}

func TestGarbageOfARuntimeThatWasGood(t *testing.T) {
	for name, part := range map[string]multiplex.ConnID{
		"as a call":    multiplex.PluginServiceConn,
		"as an answer": multiplex.RuntimeServiceConn,
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t)
			r.paused(t)
			spoil := make(chan struct{})
			startRawRuntime(t, r.socket, func(raw *rawRuntime) {
				_, err := raw.plugin.Configure(context.Background(), &api.ConfigureRequest{RuntimeName: "raw"})
				_, also := raw.plugin.Synchronize(context.Background(), &api.SynchronizeRequest{
					Pods:       []*api.PodSandbox{staticPod("file")},
					Containers: []*api.Container{container("c", api.ContainerState_CONTAINER_CREATED)},
				})
				if err := errors.Join(err, also); err != nil {
					t.Error(err)
				}
				<-spoil
				raw.trunk.Write(frame(part, 5000, make([]byte, 5000)))
				// The runtime holds on: it is for the plugin to leave.
				<-raw.gone
			})
			r.again(t)
			r.connected(t)
			r.expect(t, heard(lifecycle.Created, "c", "exists already"))
			close(spoil)
			r.paused(t)
			if is, _, _, err := r.State(); is || err == nil {
				t.Errorf("State is %v, %v", is, err)
			}
		})
	}
}

// frame is a frame of nri/pkg/net/multiplex that says it has size bytes.
func frame(part multiplex.ConnID, size uint32, payload []byte) []byte {
	head := binary.BigEndian.AppendUint32(nil, uint32(part))
	return append(binary.BigEndian.AppendUint32(head, size), payload...)
}

func TestEndsWithItsContext(t *testing.T) {
	t.Run("while there is no socket", func(t *testing.T) {
		r := start(t)
		r.paused(t)
		r.stop()
	})
	t.Run("while it registers", func(t *testing.T) {
		r := start(t, func(s *settings) { s.patience = time.Hour })
		r.paused(t)
		accepted := make(chan struct{})
		lay(t, r.socket, func(conn net.Conn) { close(accepted); deaf(conn) })
		r.again(t)
		<-accepted
		r.stop()
	})
	t.Run("while it waits to be configured", func(t *testing.T) {
		r := start(t, func(s *settings) { s.patience = time.Hour })
		r.paused(t)
		accepted := make(chan struct{})
		startRawRuntime(t, r.socket, func(raw *rawRuntime) {
			close(accepted)
			<-raw.gone
		})
		r.again(t)
		<-accepted
		r.stop()
	})
	t.Run("while it is connected", func(t *testing.T) {
		r := start(t)
		runtime := meet(t, r, world{})
		r.registered(t, runtime)
		r.stop()
		if is, _, _, _ := r.State(); is {
			t.Error("State is still connected")
		}
		// The runtime goes on without it.
		runtime.tell(t, lifecycle.Stopped, staticPod("file"), container("c", api.ContainerState_CONTAINER_STOPPED))
	})
}
