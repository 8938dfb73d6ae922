package metrics

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
)

const (
	// connections at once. Everybody on the node may connect, and none may take
	// the agent's memory.
	connections = 16
	// readTime and writeTime are what a client may take.
	readTime, writeTime = 5 * time.Second, 10 * time.Second
	// listenEvery is the time between two tries to listen.
	listenEvery = 30 * time.Second
)

// Serve serves until the context ends. A port that is taken is told once, and
// tried again.
func (m *Metrics) Serve(ctx context.Context) {
	for said := ""; ; {
		err := m.serve(ctx)
		if ctx.Err() != nil {
			return
		}
		if text := fmt.Sprint(err); text != said {
			said = text
			m.Log.Warn("no metrics (metrics.listen); the agent goes on without, and tries again", "error", text)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(listenEvery):
		}
	}
}

func (m *Metrics) serve(ctx context.Context) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", m.Listen)
	if err != nil {
		return err
	}
	m.Log.Debug("metrics are served", "address", l.Addr().String())
	server := &http.Server{
		Handler: m.Handler(), ReadTimeout: readTime, WriteTimeout: writeTime, MaxHeaderBytes: 8 << 10,
		ErrorLog: slog.NewLogLogger(m.Log.Handler(), slog.LevelDebug),
	}
	// A connection that nobody uses would be in the way of others, and another one
	// costs nothing on the same node.
	server.SetKeepAlivesEnabled(false)
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	return server.Serve(netutil.LimitListener(l, connections))
}

// Handler answers /metrics and /healthz.
func (m *Metrics) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", ContentType)
		_, _ = w.Write(m.Text()) // the client's error is the client's to see
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if err := m.Healthy(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	return mux
}
