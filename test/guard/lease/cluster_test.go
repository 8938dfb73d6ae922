package lease

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/pkitest"
)

// cluster is an etcd and an API server of the test's own.
type cluster struct {
	*testing.T
	dir, url, auditLog string
	ca                 *pkitest.Authority
	admin              *kubernetes.Clientset
}

// startCluster starts both, empty, and ends them with the test.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	etcd, server := component(t, "etcd", "etcd"), component(t, "kubernetes", "kube-apiserver")
	c := &cluster{T: t, dir: t.TempDir(), ca: pkitest.New(t)}
	c.auditLog = filepath.Join(c.dir, "audit.log")
	ports := freePorts(t, 3)
	client, peer := fmt.Sprint("http://127.0.0.1:", ports[0]), fmt.Sprint("http://127.0.0.1:", ports[1])
	c.url = fmt.Sprint("https://127.0.0.1:", ports[2])
	start(t, exec.Command(etcd, "--data-dir="+filepath.Join(c.dir, "etcd"), "--name=e", "--unsafe-no-fsync",
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=e="+peer))
	serving, accounts := c.ca.Server("api-int.example.org"), c.ca.Server("accounts")
	c.write("ca.crt", c.ca.PEM)
	c.write("serving.crt", serving.CertificatePEM)
	c.write("serving.key", serving.KeyPEM)
	c.write("accounts.crt", accounts.CertificatePEM)
	c.write("accounts.key", accounts.KeyPEM)
	c.write("audit.yaml", []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Metadata\n"))
	start(t, exec.Command(server, "--etcd-servers="+client,
		"--bind-address=127.0.0.1", fmt.Sprint("--secure-port=", ports[2]), "--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none", "--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction", "--disable-admission-plugins=ServiceAccount",
		"--client-ca-file="+c.path("ca.crt"), "--tls-cert-file="+c.path("serving.crt"), "--tls-private-key-file="+c.path("serving.key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+c.path("accounts.crt"), "--service-account-signing-key-file="+c.path("accounts.key"),
		"--service-cluster-ip-range=203.0.113.0/24",
		"--audit-policy-file="+c.path("audit.yaml"), "--audit-log-path="+c.auditLog))
	admin := c.ca.Client("admin", "system:masters", time.Now().Add(time.Hour))
	var err error
	c.admin, err = kubernetes.NewForConfig(&rest.Config{Host: c.url, QPS: -1, TLSClientConfig: rest.TLSClientConfig{
		ServerName: "api-int.example.org", CAData: c.ca.PEM, CertData: admin.CertificatePEM, KeyData: admin.KeyPEM,
	}})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the API server to be ready", func() bool {
		return c.admin.RESTClient().Get().AbsPath("/readyz").Do(t.Context()).Error() == nil
	})
	return c
}

func (c *cluster) path(name string) string { return filepath.Join(c.dir, name) }

func (c *cluster) write(name string, content []byte) {
	c.Helper()
	if err := os.WriteFile(c.path(name), content, 0o600); err != nil {
		c.Fatal(err)
	}
}

// component is a program that the box has prepared.
func component(t *testing.T, name, program string) string {
	t.Helper()
	cache := os.Getenv("NODEKEEPER_CACHE")
	if cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(dir, "nodekeeper")
	}
	found, err := filepath.Glob(filepath.Join(cache, name+"-*", program))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Skipf("there is no %s in %s: run make prepare", program, cache)
	}
	return found[len(found)-1]
}

// start starts a program that ends with the test.
func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s said last:\n%s", filepath.Base(cmd.Path), said.Bytes()[max(0, said.Len()-3000):])
		}
	})
}

func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// until waits for a condition for a minute.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(time.Minute); !is(); {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("waited a minute for %s", what)
		}
	}
}
