package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// The bounds of what is taken for an error message and for an answer of the API
// server itself.
const (
	maxMessage = 64 << 10
	maxAnswer  = 32 << 20
)

// cluster is the API server. It may be used concurrently.
type cluster struct {
	client *http.Client
	base   *url.URL
}

func connect(config *rest.Config) (*cluster, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = rest.DefaultKubernetesUserAgent()
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	return &cluster{client, base}, nil
}

// get asks for a path below the API server's root. The caller closes the body.
// An answer other than 200 and 206 is an error, a *refusal.
func (c *cluster) get(ctx context.Context, at string, query url.Values, header http.Header) (*http.Response, error) {
	target := *c.base
	target.Path = path.Join("/", target.Path, at)
	target.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header = header.Clone()
	if request.Header == nil {
		request.Header = http.Header{}
	}
	// Otherwise a compressed answer would be taken apart on the way, and its
	// ranges would be those of something else.
	request.Header.Set("Accept-Encoding", "identity")
	answer, err := c.client.Do(request)
	if err != nil {
		var at *url.Error
		if errors.As(err, &at) {
			err = at.Err
		}
		return nil, fmt.Errorf("the API server %s cannot be reached%s: %w", c.base.Host, c.doubt(), err)
	}
	if answer.StatusCode == http.StatusOK || answer.StatusCode == http.StatusPartialContent {
		return answer, nil
	}
	defer answer.Body.Close()
	return nil, refused(answer)
}

// doubt is what the address alone gives away: it is client-go's where no
// kubeconfig names another.
func (c *cluster) doubt() string {
	if c.base.Host == "localhost:8080" {
		return " (no kubeconfig? Name one with --kubeconfig or KUBECONFIG)"
	}
	return ""
}

// decode asks for an object of the API.
func (c *cluster) decode(ctx context.Context, at string, query url.Values, v any) error {
	answer, err := c.get(ctx, at, query, http.Header{"Accept": {"application/json"}})
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	return json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(v)
}

// refusal is an answer that is none.
type refusal struct {
	code int
	// message is one line, of the API server or of the kubelet behind it.
	message string
	// kind is the API's resource that the answer is about; empty if it is the
	// kubelet's.
	kind string
}

func refused(answer *http.Response) *refusal {
	body, _ := io.ReadAll(io.LimitReader(answer.Body, maxMessage))
	r := &refusal{code: answer.StatusCode, message: strings.TrimSpace(string(body))}
	var status metav1.Status
	if json.Unmarshal(body, &status) == nil && status.Kind == "Status" {
		r.message = status.Message
		if status.Details != nil {
			r.kind = status.Details.Kind
		}
	}
	r.message, _, _ = strings.Cut(r.message, "\n")
	if r.message == "" {
		r.message = answer.Status
	}
	return r
}

func (r *refusal) Error() string {
	switch r.code {
	case http.StatusUnauthorized:
		return "the API server does not know you, log in first: " + r.message
	case http.StatusForbidden:
		return r.message
	}
	return fmt.Sprintf("HTTP status %d: %s", r.code, r.message)
}

// ofNode says what an answer of nodes/proxy means.
func ofNode(err error) error {
	var r *refusal
	if !errors.As(err, &r) {
		return err
	}
	switch {
	case r.code == http.StatusForbidden:
		return fmt.Errorf("needs get on nodes/proxy: %w", err)
	case r.code == http.StatusNotFound && r.kind == "nodes":
		return errors.New("there is no such node")
	case r.code == http.StatusNotFound:
		return fs.ErrNotExist
	case r.code == http.StatusMethodNotAllowed:
		return fmt.Errorf("the kubelet does not serve /var/log (enableSystemLogHandler is false): %s", r.message)
	case r.code >= 500:
		return fmt.Errorf("the kubelet cannot be reached: %s", r.message)
	}
	return err
}
