package upstream

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/wire"
)

const (
	// establish is how long an API server may take to accept a WATCH.
	establish = 30 * time.Second
	// watchMin and as much again at random is how long a WATCH is asked to
	// last: as a kubelet's, so that watches opened together do not end together.
	watchMin = 30 * time.Minute
	// listOverhead is what a list and an object's envelope add to the object.
	listOverhead = 64 << 10
)

// Options of a client.
type Options struct {
	// HTTP carries the kubelet's own certificate. Its transport keeps idle
	// HTTP/2 connections alive with pings; it has no timeout of its own.
	HTTP *http.Client
	// Server is the API server: scheme, host and path before /api.
	Server *url.URL
	// Version is the program's, for the User-Agent.
	Version string
	// MaxObjectBytes is the largest object that is read.
	MaxObjectBytes int64
}

// Client asks the API server. Its methods may be called concurrently.
type Client struct {
	http      http.Client
	server    url.URL
	userAgent string
	limit     int64
}

// New returns a client.
func New(o Options) *Client {
	c := &Client{
		http:      *o.HTTP,
		server:    *o.Server,
		userAgent: "nodekeeper-proxy/" + o.Version,
		limit:     o.MaxObjectBytes + listOverhead,
	}
	// What a redirect leads to is not the API server.
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c
}

// List asks for the object as it is at the given resourceVersion: "" for the
// most recent state, "0" for any, a number for one that is not older. A missing
// object is nil without an error. The errors are *Refusal, ErrTooLarge,
// ErrAnswer, wire.ErrResourceVersion, and those of the connection.
//
// A pod that the node authorizer has not seen yet is refused for some
// milliseconds; that refusal is retried within the second that a kubelet waits.
func (c *Client) List(ctx context.Context, key shape.Key, version, match string) (string, *wire.Object, error) {
	query := url.Values{}
	if version != "" {
		query.Set("resourceVersion", version)
	}
	if match != "" {
		query.Set("resourceVersionMatch", match)
	}
	for _, wait := range append(unknownPodWaits, 0) {
		listVersion, object, err := c.list(ctx, key, query)
		if wait == 0 || !unknownPod(err) || !sleep(ctx, wait) {
			return listVersion, object, err
		}
	}
	panic("unreachable: the last wait is zero")
}

func (c *Client) list(ctx context.Context, key shape.Key, query url.Values) (string, *wire.Object, error) {
	response, err := c.get(ctx, key, query)
	if err != nil {
		return "", nil, fmt.Errorf("list %s: %w", key, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, c.limit+1))
	if err != nil {
		return "", nil, fmt.Errorf("list %s: %w", key, err)
	}
	if int64(len(body)) > c.limit {
		return "", nil, fmt.Errorf("list %s: %w", key, ErrTooLarge)
	}
	version, items, err := wire.DecodeList(key.Resource, body)
	if err != nil {
		return "", nil, fmt.Errorf("list %s: %w: %w", key, ErrAnswer, err)
	}
	switch {
	case len(items) == 0:
		return version, nil, nil
	case len(items) > 1 || items[0].Name != key.Name || items[0].Namespace != key.Namespace:
		return "", nil, fmt.Errorf("list %s: %w: it is about other objects", key, ErrAnswer)
	}
	return version, items[0], nil
}

// Watch asks for what happens to the object after a resourceVersion, and for
// bookmarks. The caller closes what it returns; ctx bounds all of it.
func (c *Client) Watch(ctx context.Context, key shape.Key, version string) (*Events, error) {
	ctx, cancel := context.WithCancel(ctx)
	late := time.AfterFunc(establish, cancel)
	timeout := watchMin + rand.N(watchMin)
	response, err := c.get(ctx, key, url.Values{
		"watch":               {"true"},
		"allowWatchBookmarks": {"true"},
		"resourceVersion":     {version},
		"timeoutSeconds":      {strconv.Itoa(int(timeout.Seconds()))},
	})
	if err == nil && !late.Stop() {
		response.Body.Close()
		err = context.DeadlineExceeded
	}
	if err != nil {
		late.Stop()
		cancel()
		return nil, fmt.Errorf("watch %s: %w", key, err)
	}
	return &Events{
		reader: wire.NewEventReader(key.Resource, response.Body),
		body:   response.Body,
		cancel: cancel,
	}, nil
}

// get sends the request and turns whatever is no answer into an error.
func (c *Client) get(ctx context.Context, key shape.Key, query url.Values) (*http.Response, error) {
	query.Set("fieldSelector", "metadata.name="+key.Name)
	at := c.server
	at.Path = strings.TrimSuffix(at.Path, "/") + "/api/v1/namespaces/" + key.Namespace + "/" + string(key.Resource)
	at.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", wire.Protobuf.ContentType())
	// A transport that finds none asks for gzip by itself.
	request.Header.Set("Accept-Encoding", "identity")
	request.Header.Set("User-Agent", c.userAgent)
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		return nil, readRefusal(response)
	}
	if got, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";"); got != wire.Protobuf.ContentType() {
		response.Body.Close()
		return nil, fmt.Errorf("%w: it is of type %q", ErrAnswer, got)
	}
	return response, nil
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
