package guard

import (
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/nodekeeper/nodekeeper/test/controlplane"
)

const nodeName = "n1"

var until = controlplane.Until

// cluster is an etcd and an API server of the test's own.
type cluster struct {
	*controlplane.ControlPlane
	admin *kubernetes.Clientset
	own   int // WATCHes of single objects that the API server itself has open
}

// startCluster starts both, empty, and ends them with the test.
func startCluster(t testing.TB) *cluster {
	t.Helper()
	c := &cluster{ControlPlane: controlplane.Start(t, controlplane.Options{Audit: true})}
	admin := c.config(t, "admin", "system:masters", "nodekeeper-test")
	admin.QPS = -1
	var err error
	if c.admin, err = kubernetes.NewForConfig(admin); err != nil {
		t.Fatal(err)
	}
	return c
}

// config is a client's, with a certificate of its own.
func (c *cluster) config(t testing.TB, user, group, agent string) *rest.Config {
	t.Helper()
	p := c.CA.Issue(t, user, group)
	return &rest.Config{
		Host:            "https://" + c.Host,
		UserAgent:       agent,
		TLSClientConfig: rest.TLSClientConfig{CAData: c.CA.PEM, CertData: p.Certificate, KeyData: p.Key},
	}
}

// metrics reads the API server's.
func (c *cluster) metrics(t testing.TB) []byte {
	t.Helper()
	text, err := c.admin.RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return text
}
