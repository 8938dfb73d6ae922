package guard

import (
	"context"
	"crypto/tls"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/immutable"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/upstream"
)

// proxy is a guard behind mTLS and HTTP/2, in front of the API server.
type proxy struct {
	*immutable.Guard
	host string
	end  func()
}

func (c *cluster) proxy(t testing.TB, settings config.Proxy) *proxy {
	t.Helper()
	return c.proxyOf(t, nodeName, settings, nil)
}

// proxyOf is a node's. A trace, if there is one, is told of every request.
func (c *cluster) proxyOf(t testing.TB, name string, settings config.Proxy, seen *trace) *proxy {
	t.Helper()
	return c.proxyAt(t, "127.0.0.1:0", name, settings, seen)
}

func (c *cluster) proxyAt(t testing.TB, address, name string, settings config.Proxy, seen *trace) *proxy {
	t.Helper()
	node := c.CA.Issue(t, "system:node:"+name, "system:nodes").TLS(t)
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	transport := &http.Transport{
		TLSClientConfig:    &tls.Config{Certificates: []tls.Certificate{node}, RootCAs: c.CA.Pool(), MinVersion: tls.VersionTLS12},
		Protocols:          protocols,
		DisableCompression: true,
		HTTP2:              &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
	server := &url.URL{Scheme: "https", Host: c.Host}
	p := &proxy{}
	through := &httputil.ReverseProxy{Transport: transport, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(server) }}
	p.Guard = immutable.New(immutable.Options{
		Config: settings,
		Upstream: seen.upstream(immutable.FromClient(upstream.New(upstream.Options{
			HTTP: &http.Client{Transport: transport}, Server: server, Version: "test", MaxObjectBytes: settings.MaxObjectBytes.Bytes(),
		}))),
		PassThrough: through,
	})
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	p.host = listener.Addr().String()
	front := &http.Server{
		Handler: seen.front(p.Guard),
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{c.CA.Issue(t, "proxy", "").TLS(t)},
			ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: c.CA.Pool(), MinVersion: tls.VersionTLS12,
		},
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 10000},
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{}, 2)
	go func() { p.Run(ctx); over <- struct{}{} }()
	go func() { _ = front.ServeTLS(listener, "", ""); over <- struct{}{} }()
	p.end = sync.OnceFunc(func() {
		cancel()
		_ = front.Close()
		<-over
		<-over
		transport.CloseIdleConnections()
	})
	t.Cleanup(p.end)
	return p
}

// passed is how many requests of the guard's shape were passed through.
func (p *proxy) passed() int64 {
	total := int64(0)
	for name, n := range p.Stats().Counters {
		if strings.HasPrefix(name, "passed_") && name != immutable.PassedShape.String() {
			total += n
		}
	}
	return total
}

// counted are the guard's counters that are not zero.
func (p *proxy) counted() map[string]int64 {
	counters := p.Stats().Counters
	maps.DeleteFunc(counters, func(_ string, n int64) bool { return n == 0 })
	return counters
}

// config is the way of a kubelet through the proxy.
func (p *proxy) config(c *rest.Config) *rest.Config {
	c = rest.CopyConfig(c)
	c.Host = "https://" + p.host
	return c
}
