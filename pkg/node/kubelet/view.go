package kubelet

import (
	"context"
	"errors"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// sourceTimeout bounds one source where the caller's context does not.
const sourceTimeout = 10 * time.Second

// view asks the sources from the best to the last.
//
// A Pods API that is simply not there (an older kubelet, or the gate off) is
// no error as long as /pods answers. Any other failure of it stays in Err even
// if /pods answers: somebody should know. When the Pods API answers, /pods is
// not asked.
func (c *Client) view(ctx context.Context) node.View {
	first, cancel := context.WithTimeout(ctx, half(ctx))
	pods, apiErr := c.podsAPI.list(first)
	cancel()
	if apiErr == nil {
		return node.View{Source: node.ViewPodsAPI, Pods: pods}
	}

	v := node.View{SourcesNotReady: errors.Is(apiErr, ErrSourcesNotReady)}
	second, cancel := context.WithTimeout(ctx, sourceTimeout)
	defer cancel()
	pods, podsErr := c.pods.list(second)
	if podsErr != nil {
		v.Source, v.Err = node.ViewNone, join(apiErr, podsErr)
		v.Answered = errors.Is(podsErr, ErrUnauthorized) || errors.Is(podsErr, ErrForbidden)
		return v
	}
	v.Source, v.Pods = node.ViewPods, pods
	if !errors.Is(apiErr, ErrNoPodsAPI) {
		v.Err = apiErr
	}
	return v
}

// half is half of the time that ctx leaves, so that a source that accepts and
// is silent leaves something to the next one.
func half(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return min(time.Until(deadline)/2, sourceTimeout)
	}
	return sourceTimeout
}
