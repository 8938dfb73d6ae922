package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nodekeeper/nodekeeper/internal/statefile"
	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/immutable"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/counted"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/front"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/kubeconfig"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/localca"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/pin"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/probe"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/upstream"
)

// gateway is a proxy that is put together.
type gateway struct {
	place     proxyPlace
	killed    string
	authority *localca.Authority
	upstream  *front.Upstream
	guard     *immutable.Guard
	front     *front.Front
	ladder    *probe.Ladder
	notify    func(string)
	log       *slog.Logger

	mu        sync.Mutex // guards all below
	source    *kubeconfig.Source
	published bool
}

func newGateway(cfg config.Configuration, place proxyPlace, source *kubeconfig.Source, l net.Listener, notify func(string), log *slog.Logger) (*gateway, error) {
	if err := place.make(); err != nil {
		return nil, err
	}
	authority, err := localca.Open(place.dir, []string{source.ServerName}, time.Now)
	if err != nil {
		return nil, err
	}
	g := &gateway{place: place, killed: cfg.Proxy.KillSwitch, authority: authority, source: source, notify: notify, log: log}
	kubelet := pin.New(pin.Options{
		Directory: cfg.Proxy.Certificates, Kubeconfig: cfg.Proxy.Kubeconfig, Previous: cfg.Proxy.PreviousCertificate.Duration, Now: time.Now, Log: log,
	})
	g.upstream = front.NewUpstream(targetOf(source), kubelet, log)
	passThrough := front.NewPassThrough(g.upstream, log)
	g.guard = immutable.New(immutable.Options{
		Config: cfg.Proxy, PassThrough: passThrough, Log: log,
		Upstream: immutable.FromClient(upstream.New(upstream.Options{
			HTTP: &http.Client{Transport: g.upstream}, Server: source.Server, Version: versionText(), MaxObjectBytes: cfg.Proxy.MaxObjectBytes.Bytes(),
		})),
	})
	g.front = front.New(front.Options{
		Listener: l, Certificate: authority.GetCertificate, Pin: kubelet, Guard: g.guard, PassThrough: passThrough,
		Dial: g.upstream.Dial, MaxStreams: cfg.Proxy.MaxStreams, Log: log,
	})
	g.ladder = g.newLadder(l.Addr().String())
	return g, nil
}

func targetOf(s *kubeconfig.Source) front.Target {
	return front.Target{URL: s.Server, ServerName: s.ServerName, Roots: s.Roots(), Proxy: s.Proxy}
}

func (g *gateway) newLadder(address string) *probe.Ladder {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(g.authority.PEM())
	// The certificate is for every name that the API server had.
	own := g.front.OwnClient(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: g.source.ServerName})
	agent := "nodekeeper-proxy/" + versionText()
	return probe.New(probe.Options{
		Knock: func(ctx context.Context) error {
			if err := g.front.Knock(ctx, own); err != nil {
				return err
			}
			if err := returns(ctx, func() { g.guard.Stats() }); err != nil {
				return fmt.Errorf("the guard: %w", err)
			}
			return nil
		},
		Through: func(ctx context.Context) error {
			return probe.Ask(ctx, own, &url.URL{Scheme: "https", Host: address, Path: g.upstream.Target().URL.Path}, agent)
		},
		Direct: func(ctx context.Context) error {
			return probe.Ask(ctx, g.upstream.Direct(), g.upstream.Target().URL, agent)
		},
		Answered: g.upstream.Answered,
		Renew:    g.upstream.Renew,
		Bypass:   func(on bool) { g.front.Bypass(sickReason, on) },
		Bypassed: g.front.Bypassed,
		Ready:    g.publish,
		Notify:   g.notify,
		Now:      time.Now,
		After:    time.After,
		Log:      g.log,
	})
}

// returns tells whether f does in time. A guard whose lock nobody gives back
// cannot be cured but by a new process; the watchdog sees to that.
func returns(ctx context.Context, f func()) error {
	done := make(chan struct{})
	go func() { // ends with f, or with the process
		defer close(done)
		f()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run serves until the context ends. Requests may end in peace: the way to the
// API server is closed last.
func (g *gateway) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	outward, closeOutward := context.WithCancel(context.Background())
	var inner, outer sync.WaitGroup
	outer.Go(func() { g.upstream.Run(outward) })
	inner.Go(func() { g.guard.Run(ctx) })
	inner.Go(func() {
		front.WatchKillSwitch(ctx, g.killed, func(on bool) { g.front.Bypass(g.killReason(), on) })
	})
	inner.Go(func() { g.ladder.Run(ctx) })
	inner.Go(func() { g.follow(ctx) })
	context.AfterFunc(ctx, func() {
		g.notify("STOPPING=1")
		if err := g.place.unready(); err != nil {
			g.log.Warn(err.Error())
		}
	})
	err := g.front.Run(ctx)
	cancel()
	inner.Wait()
	closeOutward()
	outer.Wait()
	g.log.Info("proxy ended")
	return errors.Join(err, g.place.unready())
}

// publish lets the kubelet come: its next start is through the proxy.
func (g *gateway) publish() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	content, err := kubeconfig.Derive(g.source, g.place.address, g.authority.PEM())
	if err != nil {
		return err
	}
	changed, err := kubeconfig.Write(g.place.derived, content)
	if err != nil {
		return err
	}
	if changed {
		g.log.Info("derived a kubeconfig; the kubelet reads it at its next start", "file", g.place.derived)
	}
	g.published = true
	return statefile.Replace(g.place.ready, []byte(g.place.address+"\n"), 0o600, false)
}

const followInterval = time.Second

// follow takes over what changes in the kubelet's kubeconfig, and writes what
// was counted.
func (g *gateway) follow(ctx context.Context) {
	tick := time.NewTicker(followInterval)
	defer tick.Stop()
	var files kubeconfig.Files
	said := ""
	for turn := 0; ; turn++ {
		if now := time.Now(); files.Changed(now) {
			files.See(now, g.place.source)
			source, err := kubeconfig.Read(g.place.source)
			if err == nil {
				files.Also(source.Files()...)
				err = g.take(source)
			}
			if errors.Is(err, fs.ErrNotExist) {
				// Without it the kubelet wants to join anew, and not through here.
				g.mu.Lock()
				err = errors.Join(err, g.place.withdraw(g.log))
				g.mu.Unlock()
			}
			text := ""
			if err != nil {
				text = err.Error()
			}
			if text != said && text != "" {
				g.log.Warn("the kubelet's kubeconfig cannot be followed", "error", text)
			}
			said = text
		}
		if turn%int(counted.Every/followInterval) == 0 {
			g.writeStats()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// take takes over a kubeconfig.
func (g *gateway) take(s *kubeconfig.Source) error {
	g.mu.Lock()
	was, published := g.source, g.published
	g.source = s
	g.mu.Unlock()
	if same := was.Server.String() == s.Server.String() && was.ServerName == s.ServerName && bytes.Equal(was.CA, s.CA) && sameURL(was.Proxy, s.Proxy); !same {
		g.log.Info("the kubelet's kubeconfig has changed", "server", s.Server.String(), "serverName", s.ServerName)
		g.authority.Name(s.ServerName)
		g.upstream.SetTarget(targetOf(s))
	}
	if !published {
		return nil // the ladder does that when the proxy answers
	}
	return g.publish()
}

func sameURL(a, b *url.URL) bool {
	return a == nil && b == nil || a != nil && b != nil && a.String() == b.String()
}

func (g *gateway) writeStats() {
	s := counted.Stats{Time: time.Now(), Front: g.front.Stats(), Guard: g.guard.Stats()}
	for reason, way := range map[string]counted.Bypass{g.killReason(): counted.KillSwitch, sickReason: counted.Sick} {
		if strings.Contains(s.Front.Bypassed, reason) {
			s.Bypass = append(s.Bypass, way)
		}
	}
	slices.Sort(s.Bypass)
	if err := counted.Write(g.place.dir, s); err != nil {
		g.log.Debug("write what was counted", "error", err)
	}
}

// sickReason and killReason are why connections are passed on unread.
const sickReason = "the proxy found itself sick"

func (g *gateway) killReason() string { return "kill switch " + g.killed }
