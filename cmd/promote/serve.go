package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/promote/controller"
)

const (
	// requestTime bounds a request, idleTime an unused connection.
	requestTime, idleTime = 10 * time.Second, 2 * time.Minute
)

// serveAndRun runs the promoter, and beside it what watches over it.
func serveAndRun(ctx context.Context, address string, c *controller.Controller, log *slog.Logger) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	server := &http.Server{Handler: handler(c), ReadTimeout: requestTime, WriteTimeout: requestTime, IdleTimeout: idleTime,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	ended := make(chan struct{})
	go func() { // ends with Close
		defer close(ended)
		_ = server.Serve(l)
	}()
	defer func() {
		_ = server.Close()
		<-ended
	}()
	return c.Run(ctx)
}

// handler answers probes and scrapes. A promoter that loses its lease ends by
// itself, so that being alive is all that /healthz has to say; it is ready once
// it has learned who has the lease, be that another.
func handler(c counted) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry(c), promhttp.HandlerOpts{MaxRequestsInFlight: 4, DisableCompression: true}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !c.State().Known {
			http.Error(w, "the API server has not told yet who has the lease", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	return mux
}
