package lease

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/pkitest"
	"github.com/nodekeeper/nodekeeper/test/controlplane"
)

// cluster is an etcd and an API server of the test's own, and a directory for
// the node's files.
type cluster struct {
	*testing.T
	dir, url, auditLog string
	ca                 *pkitest.Authority
	admin              *kubernetes.Clientset
}

const serverName = "api-int.example.org"

// startCluster starts both, empty, and ends them with the test.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	ca := pkitest.New(t)
	serving := ca.Server(serverName)
	plane := controlplane.Start(t, controlplane.Options{Audit: true, CA: ca.PEM,
		Serving: &controlplane.Pair{Certificate: serving.CertificatePEM, Key: serving.KeyPEM}})
	c := &cluster{T: t, dir: t.TempDir(), url: "https://" + plane.Host, auditLog: plane.AuditLog, ca: ca}
	admin := c.ca.Client("admin", "system:masters", time.Now().Add(time.Hour))
	var err error
	c.admin, err = kubernetes.NewForConfig(&rest.Config{Host: c.url, QPS: -1, TLSClientConfig: rest.TLSClientConfig{
		ServerName: serverName, CAData: c.ca.PEM, CertData: admin.CertificatePEM, KeyData: admin.KeyPEM,
	}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *cluster) path(name string) string { return filepath.Join(c.dir, name) }

func (c *cluster) write(name string, content []byte) {
	c.Helper()
	if err := os.WriteFile(c.path(name), content, 0o600); err != nil {
		c.Fatal(err)
	}
}

// until waits for a condition for a minute.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	controlplane.Until(t, time.Minute, what, is)
}
