package announce

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/internal/keypair"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/kubeconfig"
)

const (
	// patience bounds one request.
	patience = 15 * time.Second
	// idleTime is how long a connection is kept for the next request. Most come
	// alone, minutes apart.
	idleTime = 10 * time.Second
	// answerLimit is more than a Node is.
	answerLimit = 4 << 20
)

// client asks the API server as the kubelet. It belongs to one goroutine.
type client struct {
	path, version string
	now           func() time.Time

	files     kubeconfig.Files
	source    *kubeconfig.Source
	transport *http.Transport
}

// refusal is an answer that is none of success.
type refusal struct {
	code    int
	message string
}

func (r *refusal) Error() string { return fmt.Sprintf("status %d: %s", r.code, r.message) }

// refused tells whether the API server answered, and will not take it another
// time either.
func refused(err error) bool {
	var r *refusal
	return errors.As(err, &r) && r.code >= 400 && r.code < 500 && r.code != http.StatusTooManyRequests && r.code != http.StatusUnauthorized
}

func answered(err error, code int) bool {
	var r *refusal
	return errors.As(err, &r) && r.code == code
}

// open takes up the kubeconfig, anew after it has changed.
func (c *client) open() error {
	if c.source != nil && !c.files.Changed(c.now()) {
		return nil
	}
	c.close()
	c.files.See(c.now(), c.path)
	s, err := kubeconfig.Read(c.path)
	if err != nil {
		return err
	}
	if s.CAFile != "" {
		c.files.Also(s.CAFile)
	}
	proxy := http.ProxyFromEnvironment
	if s.Proxy != nil {
		proxy = http.ProxyURL(s.Proxy)
	}
	c.source = s
	c.transport = &http.Transport{
		Proxy:       proxy,
		DialContext: (&net.Dialer{Timeout: patience}).DialContext,
		// The kubelet renews its certificate within its file: it is read for each
		// connection, and no connection lasts.
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: s.Roots(), ServerName: s.ServerName,
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate(s) }},
		TLSHandshakeTimeout: patience, IdleConnTimeout: idleTime, MaxIdleConns: 1, DisableCompression: true,
	}
	return nil
}

func certificate(s *kubeconfig.Source) (*tls.Certificate, error) {
	if len(s.CertificateData) > 0 && len(s.KeyData) > 0 {
		pair, err := tls.X509KeyPair(s.CertificateData, s.KeyData)
		return &pair, err
	}
	pair, _, err := keypair.Read(s.CertificateFile, s.KeyFile)
	return &pair, err
}

func (c *client) close() {
	if c.transport != nil {
		c.transport.CloseIdleConnections()
	}
	c.source, c.transport = nil, nil
}

// condition is ours, as the API server has it; nil if it has none.
func (c *client) condition(ctx context.Context, node string) (*nodeCondition, error) {
	answer, err := c.ask(ctx, http.MethodGet, "/api/v1/nodes/"+url.PathEscape(node), "", nil)
	if err != nil {
		return nil, fmt.Errorf("read the conditions of node %s: %w", node, err)
	}
	var has struct {
		Status struct {
			Conditions []nodeCondition `json:"conditions"`
		} `json:"status"`
	}
	if err := json.Unmarshal(answer, &has); err != nil {
		return nil, fmt.Errorf("read the conditions of node %s: %w", node, err)
	}
	for _, condition := range has.Status.Conditions {
		if condition.Type == ConditionType {
			return &condition, nil
		}
	}
	return nil, nil
}

// setCondition writes ours. A strategic merge patch finds it by its type and
// leaves all others alone (kubelet and API server: patchMergeKey=type).
func (c *client) setCondition(ctx context.Context, node string, condition nodeCondition) error {
	patch := map[string]any{"status": map[string]any{"conditions": []nodeCondition{condition}}}
	_, err := c.ask(ctx, http.MethodPatch, "/api/v1/nodes/"+url.PathEscape(node)+"/status", "application/strategic-merge-patch+json", patch)
	if err != nil {
		return fmt.Errorf("set condition %s of node %s: %w", ConditionType, node, err)
	}
	return nil
}

func (c *client) createEvent(ctx context.Context, e apiEvent) error {
	_, err := c.ask(ctx, http.MethodPost, eventsOf(e), "application/json", e)
	if answered(err, http.StatusConflict) {
		return nil // an earlier try was answered too late
	}
	return err
}

// recount tells that it has happened again.
func (c *client) recount(ctx context.Context, e apiEvent) error {
	patch := map[string]any{"count": e.Count, "lastTimestamp": e.Last, "message": e.Message, "type": e.Type}
	_, err := c.ask(ctx, http.MethodPatch, eventsOf(e)+"/"+url.PathEscape(e.Metadata.Name), "application/merge-patch+json", patch)
	return err
}

func eventsOf(e apiEvent) string {
	return "/api/v1/namespaces/" + url.PathEscape(e.Metadata.Namespace) + "/events"
}

// ask sends one request. The error is a *refusal if there was an answer.
func (c *client) ask(ctx context.Context, method, path, contentType string, body any) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	at := strings.TrimSuffix(c.source.Server.String(), "/") + path
	r, err := http.NewRequestWithContext(ctx, method, at, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", component+"/"+c.version)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	// Not http.Client: what a redirect leads to is not the API server.
	response, err := c.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, answerLimit))
	if response.StatusCode < 200 || response.StatusCode > 299 {
		var said struct {
			Message string `json:"message"`
		}
		_ = json.Unmarshal(answer, &said) // a proxy in between may say something else
		return nil, &refusal{response.StatusCode, short(said.Message)}
	}
	return answer, err
}
