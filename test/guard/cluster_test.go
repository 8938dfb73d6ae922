package guard

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const nodeName = "n1"

// cluster is an etcd and an API server of the test's own.
type cluster struct {
	dir      string
	host     string // 127.0.0.1:port
	ca       *authority
	auditLog string
	admin    *kubernetes.Clientset
	own      int // WATCHes of single objects that the API server itself has open
	// again ends the API server and starts it anew.
	again func(testing.TB)
}

// startCluster starts both, empty, and ends them with the test.
func startCluster(t testing.TB) *cluster {
	t.Helper()
	etcd, apiServer := component(t, "etcd", "etcd"), component(t, "kubernetes", "kube-apiserver")
	c := &cluster{dir: t.TempDir(), ca: newAuthority(t)}
	c.auditLog = filepath.Join(c.dir, "audit.log")
	ports := freePorts(t, 3)
	c.host = fmt.Sprint("127.0.0.1:", ports[2])

	client, peer := fmt.Sprint("http://127.0.0.1:", ports[0]), fmt.Sprint("http://127.0.0.1:", ports[1])
	c.run(t, etcd, "--data-dir="+filepath.Join(c.dir, "etcd"), "--name=e", "--unsafe-no-fsync",
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=e="+peer)

	c.ca.save(t, c.dir, "apiserver", c.ca.issue(t, "kube-apiserver", ""))
	c.ca.save(t, c.dir, "accounts", c.ca.issue(t, "accounts", ""))
	policy := filepath.Join(c.dir, "audit.yaml")
	if err := os.WriteFile(policy, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Metadata\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(c.dir, name) }
	arguments := []string{"--etcd-servers=" + client,
		"--bind-address=127.0.0.1", fmt.Sprint("--secure-port=", ports[2]), "--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none", "--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction", "--disable-admission-plugins=ServiceAccount",
		"--client-ca-file=" + in("ca.crt"), "--tls-cert-file=" + in("apiserver.crt"), "--tls-private-key-file=" + in("apiserver.key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + in("accounts.key"), "--service-account-signing-key-file=" + in("accounts.key"),
		"--service-cluster-ip-range=203.0.113.0/24",
		"--audit-policy-file=" + policy, "--audit-log-path=" + c.auditLog}
	end := c.run(t, apiServer, arguments...)

	admin := c.config(t, "admin", "system:masters", "nodekeeper-test")
	admin.QPS = -1
	var err error
	if c.admin, err = kubernetes.NewForConfig(admin); err != nil {
		t.Fatal(err)
	}
	c.ready(t)
	c.again = func(t testing.TB) {
		t.Helper()
		end()
		end = c.run(t, apiServer, arguments...)
		c.ready(t)
	}
	return c
}

func (c *cluster) ready(t testing.TB) {
	t.Helper()
	until(t, time.Minute, "the API server to be ready", func() bool {
		return c.admin.RESTClient().Get().AbsPath("/readyz").Do(t.Context()).Error() == nil
	})
}

// component is a program that the box has prepared.
func component(t testing.TB, name, program string) string {
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
	newest, when := "", time.Time{}
	for _, path := range found {
		if info, err := os.Stat(path); err == nil && info.ModTime().After(when) {
			newest, when = path, info.ModTime()
		}
	}
	if newest == "" {
		t.Skipf("there is no %s in %s: run make prepare", program, cache)
	}
	return newest
}

// run starts a program and returns what ends it; the test's end does too.
func (c *cluster) run(t testing.TB, program string, arguments ...string) (end func()) {
	t.Helper()
	var output bytes.Buffer
	cmd := exec.Command(program, arguments...)
	cmd.Dir = c.dir
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	t.Cleanup(func() {
		end()
		if t.Failed() {
			t.Logf("%s said last:\n%s", filepath.Base(program), output.Bytes()[max(0, output.Len()-2000):])
		}
	})
	return end
}

// config is a client's, with a certificate of its own.
func (c *cluster) config(t testing.TB, user, group, agent string) *rest.Config {
	t.Helper()
	p := c.ca.issue(t, user, group)
	return &rest.Config{
		Host:      "https://" + c.host,
		UserAgent: agent,
		TLSClientConfig: rest.TLSClientConfig{
			CAData: c.ca.pem, CertData: p.certificate, KeyData: p.key,
		},
	}
}

func freePorts(t testing.TB, n int) []int {
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

func until(t testing.TB, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %v for %s", limit, what)
		}
	}
}

// authority signs the certificates of a cluster.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

type pair struct{ certificate, key []byte }

func newAuthority(t testing.TB) *authority {
	t.Helper()
	template := template(pkix.Name{CommonName: "test"})
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{template, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

func template(subject pkix.Name) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      subject,
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
}

func (a *authority) issue(t testing.TB, name, group string) pair {
	t.Helper()
	cert := template(pkix.Name{CommonName: name})
	if group != "" {
		cert.Subject.Organization = []string{group}
	}
	cert.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	cert.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	bare, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pair{
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: bare}),
	}
}

func (a *authority) save(t testing.TB, dir, name string, p pair) {
	t.Helper()
	for file, data := range map[string][]byte{name + ".crt": p.certificate, name + ".key": p.key, "ca.crt": a.pem} {
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func (p pair) tls(t testing.TB) tls.Certificate {
	t.Helper()
	certificate, err := tls.X509KeyPair(p.certificate, p.key)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(a.pem)
	return pool
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
