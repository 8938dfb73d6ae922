package front

import (
	"context"
	"io"
	"net"
	"time"
)

// dialTime bounds a connect to the API server.
const dialTime = 10 * time.Second

// splice passes bytes on between the kubelet and the API server. The kernel
// moves them; the two check each other's life themselves.
func (f *Front) splice(ctx context.Context, client *net.TCPConn) {
	dialing, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	server, err := f.options.Dial(dialing)
	if err != nil {
		f.options.Log.Debug("bypass: connect to the API server", "error", err)
		return
	}
	f.mu.Lock()
	_, open := f.open[client] // it may have been cut while this one was made
	if open {
		f.open[server] = true
	}
	f.mu.Unlock()
	defer f.forget(server)
	defer server.Close()
	if !open {
		return
	}
	done := make(chan struct{})
	go func() { // ends when either connection is closed
		defer close(done)
		pass(server, client)
	}()
	pass(client, server)
	<-done
}

// pass moves bytes one way. The end of one way leaves the other open; an error
// ends both.
func pass(to, from *net.TCPConn) {
	if _, err := io.Copy(to, from); err == nil && to.CloseWrite() == nil {
		return
	}
	_ = to.Close()
	_ = from.Close()
}
