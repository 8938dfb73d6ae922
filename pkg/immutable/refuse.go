package immutable

import (
	"context"
	"errors"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/upstream"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/wire"
)

// answerError gives a client the API server's refusal as it was given, or its
// own answer where the guard has none.
func (g *Guard) answerError(w http.ResponseWriter, r *http.Request, q shape.Query, err error) {
	var refusal *upstream.Refusal
	switch {
	case errors.Is(err, errAbandoned):
		g.count.add(Abandoned)
	case errors.Is(err, errVersions), errors.Is(err, wire.ErrResourceVersion):
		g.pass(w, r, PassedVersion)
	case errors.Is(err, errBytes):
		g.pass(w, r, PassedBytes)
	case errors.Is(err, upstream.ErrTooLarge):
		g.pass(w, r, PassedLarge)
	case errors.Is(err, upstream.ErrAnswer):
		g.pass(w, r, PassedAnswer)
	case errors.Is(err, context.Canceled):
		g.pass(w, r, PassedClosing)
	case errors.As(err, &refusal):
		g.refuse(w, q, refusal)
	default:
		g.refuseWith(w, q, unavailable())
	}
}

func (g *Guard) refuse(w http.ResponseWriter, q shape.Query, refusal *upstream.Refusal) {
	if q.Verb == shape.WatchList && refusal.Code == http.StatusTooManyRequests {
		// After a 429 a watch-list comes again once a second and never falls
		// back to a LIST: client-go tools/cache/reflector.go watchList, v1.37.
		g.refuseWith(w, q, unavailable())
		return
	}
	if refusal.RetryAfter != "" {
		w.Header().Set("Retry-After", refusal.RetryAfter)
	}
	if status, err := wire.DecodeStatus(refusal.Body); err == nil {
		status.Code = int32(refusal.Code)
		g.refuseWith(w, q, status)
		return
	}
	g.count.add(Refused)
	if refusal.ContentType != "" {
		w.Header().Set("Content-Type", refusal.ContentType)
	}
	w.WriteHeader(refusal.Code)
	_, _ = w.Write(refusal.Body)
}

func (g *Guard) refuseWith(w http.ResponseWriter, q shape.Query, status *metav1.Status) {
	g.count.add(Refused)
	body, err := wire.EncodeStatus(q.Encoding, status)
	if err != nil {
		w.WriteHeader(int(status.Code))
		return
	}
	w.Header().Set("Cache-Control", "no-cache, private")
	w.Header().Set("Content-Type", q.Encoding.ContentType())
	w.WriteHeader(int(status.Code))
	_, _ = w.Write(body)
}

// refusalStatus is what a plain watch is told that could not be caught up with.
func refusalStatus(q shape.Query, err error) *metav1.Status {
	var refusal *upstream.Refusal
	if !errors.As(err, &refusal) {
		return unavailable()
	}
	if refusal.Code == http.StatusGatewayTimeout {
		// The client is ahead of the API server, and has to start again.
		return expired(q)
	}
	if status, err := wire.DecodeStatus(refusal.Body); err == nil {
		status.Code = int32(refusal.Code)
		return status
	}
	return unavailable()
}

func unavailable() *metav1.Status {
	return &metav1.Status{
		Status:  metav1.StatusFailure,
		Message: "the API server did not answer",
		Reason:  metav1.StatusReasonServiceUnavailable,
		Code:    http.StatusServiceUnavailable,
	}
}
