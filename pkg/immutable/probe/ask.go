package probe

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/front"
)

// errUnreachable is what the proxy says where the API server says nothing.
var errUnreachable = errors.New("the proxy got no answer of the API server")

// Ask asks the API server at base for its version, which everybody may know. A
// refusal is an answer too. The client follows no redirect.
func Ask(ctx context.Context, client *http.Client, base *url.URL, userAgent string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base.JoinPath("version").String(), nil)
	if err != nil {
		return err
	}
	r.Header.Set("User-Agent", userAgent)
	// What a redirect leads to is not the API server.
	response, err := client.Transport.RoundTrip(r)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.Header.Get(front.UnreachableHeader) != "" {
		return errUnreachable
	}
	return nil
}
