package main

import (
	"context"
	"sync"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/agent"
	"github.com/nodekeeper/nodekeeper/pkg/agent/announce"
	"github.com/nodekeeper/nodekeeper/pkg/agent/metrics"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/counted"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// outside is what tells others how the node is. Nothing of the agent's waits for
// it.
type outside struct {
	listeners []agent.Listener
	parts     []func(context.Context)
	// crashed is told each crash record; nil for nobody.
	crashed func(record.Entry)
}

func newOutside(o agent.Options) *outside {
	out := &outside{}
	cfg := o.Config
	if cfg.Metrics.Listen != "" {
		m := metrics.New(metrics.Options{
			Version: o.Version, Listen: cfg.Metrics.Listen, Clock: o.Clock,
			Proxy: counted.Dir(cfg.Directories.Run), Derived: cfg.Proxy.Derived,
			Late: 3*cfg.Interval.Duration + 2*cfg.LookTimeout.Duration, Log: o.Logger,
		})
		out.listeners = append(out.listeners, m)
		out.parts = append(out.parts, m.Serve)
	}
	if cfg.Announce.Enabled {
		a := announce.New(announce.Options{
			Kubeconfig: cfg.Announce.Kubeconfig, Version: o.Version, Now: time.Now, After: time.After, Log: o.Logger,
		})
		out.listeners = append(out.listeners, a)
		out.parts = append(out.parts, a.Run)
		out.crashed = a.Crashed
	}
	return out
}

// start lets the agent be heard until the context ends. The caller calls wait
// after that.
func (out *outside) start(ctx context.Context, a *agent.Agent) (wait func()) {
	var all sync.WaitGroup
	for _, l := range out.listeners {
		a.Tell(l)
	}
	for _, run := range out.parts {
		all.Go(func() { run(ctx) })
	}
	return all.Wait
}
