package live

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/kubeconfig"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/pkitest"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
)

// stage is an API server that knows a node by its certificate.
func stage(t *testing.T, handler http.Handler) *Client {
	t.Helper()
	authority := pkitest.New(t)
	server := httptest.NewUnstartedServer(handler)
	pair := authority.Server("api.example.com")
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair.Certificate}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authority.Pool()}
	server.StartTLS()
	t.Cleanup(server.Close)
	node := authority.NewNode(server.URL, "api.example.com")
	node.Rotate(authority.Kubelet("n1"))
	source, err := kubeconfig.Read(node.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(source, "nodekeeper-audit/test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestANodeReadsItsPodsAndTheirObjects(t *testing.T) {
	changed := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	mux := http.NewServeMux()
	var node string
	mux.HandleFunc("GET /api/v1/pods", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("fieldSelector") != "spec.nodeName="+node || r.UserAgent() != "nodekeeper-audit/test" ||
			r.TLS.PeerCertificates[0].Subject.CommonName != "system:node:"+node {
			http.Error(w, "not the node", http.StatusForbidden)
			return
		}
		if r.FormValue("continue") == "" {
			fmt.Fprint(w, `{"kind":"PodList","metadata":{"continue":"more"},"items":[{"metadata":{"name":"a"}}]}`)
			return
		}
		fmt.Fprint(w, `{"kind":"PodList","items":[{"metadata":{"name":"b"}}]}`)
	})
	mux.HandleFunc("GET /api/v1/namespaces/ns/secrets/s", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"kind":"Secret","metadata":{"name":"s","uid":"u","creationTimestamp":"2026-02-01T00:00:00Z","managedFields":[
			{"manager":"x","time":"2026-03-01T12:00:00Z","fieldsV1":{"f:data":{"f:k":{}}}},
			{"manager":"y","time":"2026-03-01T13:00:00Z","fieldsV1":{"f:metadata":{"f:labels":{}}}}]},
			"immutable":true,"data":{"k":%q}}`, base64.StdEncoding.EncodeToString([]byte{0, 1, 255}))
	})
	mux.HandleFunc("GET /api/v1/namespaces/ns/configmaps/m", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"kind":"ConfigMap","metadata":{"name":"m","uid":"v"},"data":{"k":"text"},"binaryData":{"b":"AAE="}}`)
	})
	mux.HandleFunc("GET /api/v1/namespaces/ns/configmaps/empty", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"kind":"ConfigMap","metadata":{"name":"empty"}}`)
	})
	mux.HandleFunc("GET /api/v1/namespaces/ns/secrets/bad", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"kind":"Secret","data":{"k":"hunter2!"}}`)
	})
	mux.HandleFunc("GET /api/v1/namespaces/ns/secrets/denied", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind":"Status","message":"no relationship found between node and this object"}`)
	})
	c := stage(t, mux)
	node = c.Node
	ctx := context.Background()

	pods, err := c.Pods(ctx)
	if err != nil || len(pods) != 2 || pods[1].Name != "b" {
		t.Fatal(pods, err)
	}
	get := func(resource shape.Resource, name string) (string, error) {
		o, err := c.Object(ctx, shape.Key{Resource: resource, Namespace: "ns", Name: name})
		if o == nil || err != nil {
			return "none", err
		}
		return fmt.Sprintf("%s %t %t %v", o.UID, o.Immutable, o.Changed.Equal(changed), o.Data), nil
	}
	for name, want := range map[string]string{
		"s": "u true true map[k:[0 1 255]]", "m": "v false false map[b:[0 1] k:[116 101 120 116]]", "empty": " false false map[]", "gone": "none",
	} {
		resource := shape.ConfigMaps
		if name == "s" {
			resource = shape.Secrets
		}
		if got, err := get(resource, name); err != nil || got != want {
			t.Errorf("%s: %q %v, want %q", name, got, err, want)
		}
	}
	if _, err := get(shape.Secrets, "denied"); err == nil || !strings.Contains(err.Error(), "403: no relationship") {
		t.Error(err)
	}
	if _, err := get(shape.Secrets, "bad"); err == nil || strings.Contains(err.Error(), "hunter") {
		t.Errorf("an error quotes a Secret: %v", err)
	}
}
