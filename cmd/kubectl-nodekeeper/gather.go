package main

import (
	"context"
	"fmt"
)

// connect reads the kubeconfig.
func (p *plugin) connect() (*cluster, error) {
	config, err := p.kube.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return connect(config)
}

// gather asks the chosen nodes for something among their files. The error is a
// line for each node that failed.
func gather[T any](ctx context.Context, p *plugin, nodes *choice, named []string, one func(context.Context, *nodeFiles) (T, error)) ([]answer[T], error) {
	server, err := p.connect()
	if err != nil {
		return nil, err
	}
	names, err := nodes.names(ctx, server, named)
	if err != nil {
		return nil, err
	}
	return sorted(ask(ctx, p, names, func(ctx context.Context, node string) (T, error) {
		return one(ctx, &nodeFiles{cluster: server, node: node, dir: p.dir})
	}))
}
