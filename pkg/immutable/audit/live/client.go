package live

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/audit/mounts"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/kubeconfig"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
)

const (
	// patience is how long one answer may take.
	patience = 20 * time.Second
	// maxAnswer bounds one: a page of pods, or an object.
	maxAnswer = 64 << 20
	page      = "250"
	nodeUser  = "system:node:"
)

// Client asks in the name of Node.
type Client struct {
	// Node is who the certificate is for.
	Node   string
	client *http.Client
	server url.URL
	agent  string
}

// New returns a client with the certificate that a kubelet's kubeconfig names.
// Agent is its User-Agent, which is not the kubelet's, so that audit logs tell
// them apart.
func New(s *kubeconfig.Source, agent string) (*Client, error) {
	pair, err := s.Pair()
	if err != nil {
		return nil, err
	}
	node, ok := strings.CutPrefix(pair.Leaf.Subject.CommonName, nodeUser)
	if !ok {
		return nil, fmt.Errorf("the client certificate is for %q, which is no node", pair.Leaf.Subject.CommonName)
	}
	proxy := http.ProxyFromEnvironment
	if s.Proxy != nil {
		proxy = http.ProxyURL(s.Proxy)
	}
	transport := &http.Transport{
		Proxy:             proxy,
		ForceAttemptHTTP2: true,
		TLSClientConfig: &tls.Config{
			RootCAs: s.Roots(), ServerName: s.ServerName, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12,
		},
	}
	return &Client{node, &http.Client{Transport: transport, Timeout: patience}, *s.Server, agent}, nil
}

// Close ends idle connections.
func (c *Client) Close() { c.client.CloseIdleConnections() }

// Pods are those of the node.
func (c *Client) Pods(ctx context.Context) ([]*corev1.Pod, error) {
	query := url.Values{"fieldSelector": {"spec.nodeName=" + c.Node}, "limit": {page}}
	var pods []*corev1.Pod
	for {
		var list corev1.PodList
		if err := c.get(ctx, "/api/v1/pods", query, &list); err != nil {
			return nil, fmt.Errorf("list the pods of %s: %w", c.Node, err)
		}
		for i := range list.Items {
			pods = append(pods, &list.Items[i])
		}
		if list.Continue == "" {
			return pods, nil
		}
		query.Set("continue", list.Continue)
	}
}

// object is what is read of a Secret or a ConfigMap.
type object struct {
	Metadata   metav1.ObjectMeta `json:"metadata"`
	Immutable  bool              `json:"immutable"`
	Data       json.RawMessage   `json:"data"`
	BinaryData map[string][]byte `json:"binaryData"`
}

// Object asks for one object; nil without an error if there is none.
func (c *Client) Object(ctx context.Context, key shape.Key) (*mounts.Live, error) {
	var o object
	at := "/api/v1/namespaces/" + url.PathEscape(key.Namespace) + "/" + string(key.Resource) + "/" + url.PathEscape(key.Name)
	err := c.get(ctx, at, nil, &o)
	var r refusal
	if errors.As(err, &r) && r.code == http.StatusNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l := &mounts.Live{
		UID: string(o.Metadata.UID), Immutable: o.Immutable, Created: o.Metadata.CreationTimestamp.Time,
		Changed: changed(&o.Metadata), Data: o.BinaryData,
	}
	if l.Data == nil {
		l.Data = map[string][]byte{}
	}
	if len(o.Data) == 0 {
		return l, nil
	}
	if key.Resource == shape.Secrets {
		err = json.Unmarshal(o.Data, &l.Data)
	} else {
		var text map[string]string
		err = json.Unmarshal(o.Data, &text)
		for k, v := range text {
			l.Data[k] = []byte(v)
		}
	}
	if err != nil {
		return nil, errors.New("the API server's answer is no " + string(key.Resource))
	}
	return l, nil
}

// changed is when the data was last written, as far as the object itself says.
func changed(o *metav1.ObjectMeta) time.Time {
	var last time.Time
	for _, f := range o.ManagedFields {
		if f.Time == nil || f.FieldsV1 == nil || f.Subresource != "" {
			continue
		}
		fields := f.FieldsV1.GetRawString()
		if (strings.Contains(fields, `"f:data"`) || strings.Contains(fields, `"f:binaryData"`)) && f.Time.After(last) {
			last = f.Time.Time
		}
	}
	return last
}

// refusal is an answer that is none.
type refusal struct {
	code    int
	message string
}

func (r refusal) Error() string { return fmt.Sprintf("HTTP status %d: %s", r.code, r.message) }

func (c *Client) get(ctx context.Context, at string, query url.Values, v any) error {
	target := c.server
	target.Path = strings.TrimSuffix(target.Path, "/") + at
	target.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", c.agent)
	answer, err := c.client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		var status metav1.Status
		if json.Unmarshal(body, &status) != nil || status.Message == "" {
			status.Message = answer.Status
		}
		return refusal{answer.StatusCode, status.Message}
	}
	// A decoder's error can quote what it read, and that can be a Secret.
	if json.Unmarshal(body, v) != nil {
		return errors.New("the API server's answer is not what was asked for")
	}
	return nil
}
