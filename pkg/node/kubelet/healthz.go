package kubelet

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// healthzTimeout bounds the ping on its own, so that a slow look at the pods
// does not hide a kubelet whose ping is slow too. The handler does no work: a
// kubelet that needs longer is not scheduled.
const healthzTimeout = 2 * time.Second

// healthz pings the kubelet's health port. On 10248 it carries no check but
// the ping itself: ok says that the process schedules, and no more.
type healthz struct {
	web     *web
	timeout time.Duration
}

func newHealthz(url string) *healthz {
	return &healthz{web: newWeb(url, nil), timeout: healthzTimeout}
}

// ping returns nil if the kubelet answered 200 in time.
func (h *healthz) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	answer, err := h.web.get(ctx)
	if err != nil {
		return fmt.Errorf("kubelet healthz: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("kubelet healthz: %s answered %s: %s", h.web.address, answer.Status, firstLine(answer.Body))
	}
	return nil
}

// firstLine reads what is worth showing of an error's body: one line of at
// most 200 bytes, without control characters.
func firstLine(body io.Reader) string {
	text, _ := io.ReadAll(io.LimitReader(body, 200))
	for i, b := range text {
		if b == '\n' || b == '\r' {
			text = text[:i]
			break
		}
		if b < ' ' || b > '~' {
			text[i] = '?'
		}
	}
	if len(text) == 0 {
		return "(no text)"
	}
	return string(text)
}
