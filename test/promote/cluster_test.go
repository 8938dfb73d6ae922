package promote

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

const manifests = "../../manifests/promote"

// cluster is an etcd and an API server of the test's own.
type cluster struct {
	dir, host string
	ca        *authority
	config    *rest.Config // an admin's
	admin     *kubernetes.Clientset
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	etcd, apiServer := component(t, "etcd", "etcd"), component(t, "kubernetes", "kube-apiserver")
	c := &cluster{dir: t.TempDir(), ca: newAuthority(t)}
	ports := freePorts(t, 3)
	c.host = fmt.Sprint("https://127.0.0.1:", ports[2])

	client, peer := fmt.Sprint("http://127.0.0.1:", ports[0]), fmt.Sprint("http://127.0.0.1:", ports[1])
	c.run(t, etcd, "--data-dir="+filepath.Join(c.dir, "etcd"), "--name=e", "--unsafe-no-fsync",
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=e="+peer)

	for _, name := range []string{"apiserver", "accounts"} {
		certificate, key := c.ca.issue(t, name, "")
		c.save(t, name+".crt", certificate)
		c.save(t, name+".key", key)
	}
	in := func(name string) string { return filepath.Join(c.dir, name) }
	c.save(t, "ca.crt", c.ca.pem)
	c.run(t, apiServer, "--etcd-servers="+client,
		"--bind-address=127.0.0.1", fmt.Sprint("--secure-port=", ports[2]), "--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none", "--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction", "--disable-admission-plugins=ServiceAccount",
		"--client-ca-file="+in("ca.crt"), "--tls-cert-file="+in("apiserver.crt"), "--tls-private-key-file="+in("apiserver.key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+in("accounts.key"), "--service-account-signing-key-file="+in("accounts.key"),
		"--service-cluster-ip-range=203.0.113.0/24")

	c.config = c.as(t, "admin", "system:masters")
	c.config.QPS = -1
	var err error
	if c.admin, err = kubernetes.NewForConfig(c.config); err != nil {
		t.Fatal(err)
	}
	until(t, time.Minute, "the API server to be ready", func() bool {
		return c.admin.RESTClient().Get().AbsPath("/readyz").Do(t.Context()).Error() == nil
	})
	return c
}

// apply creates all that manifests/promote builds.
func (c *cluster) apply(t *testing.T) {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), manifests)
	if err != nil {
		t.Fatal(err)
	}
	groups, err := restmapper.GetAPIGroupResources(c.admin.Discovery())
	if err != nil {
		t.Fatal(err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	client, err := dynamic.NewForConfig(c.config)
	if err != nil {
		t.Fatal(err)
	}
	for _, resource := range built.Resources() {
		content, err := resource.Map()
		if err != nil {
			t.Fatal(err)
		}
		o := &unstructured.Unstructured{Object: content}
		mapping, err := mapper.RESTMapping(o.GroupVersionKind().GroupKind(), o.GroupVersionKind().Version)
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Resource(mapping.Resource).Namespace(o.GetNamespace()).Create(t.Context(), o, metav1.CreateOptions{FieldValidation: "Strict"})
		if err != nil {
			t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
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

func (c *cluster) run(t *testing.T, program string, arguments ...string) {
	t.Helper()
	var output bytes.Buffer
	cmd := exec.Command(program, arguments...)
	cmd.Dir = c.dir
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s said last:\n%s", filepath.Base(program), output.Bytes()[max(0, output.Len()-2000):])
		}
	})
}

func (c *cluster) save(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// as is the configuration of a client with a certificate of its own.
func (c *cluster) as(t *testing.T, user, group string) *rest.Config {
	t.Helper()
	certificate, key := c.ca.issue(t, user, group)
	return &rest.Config{Host: c.host, TLSClientConfig: rest.TLSClientConfig{CAData: c.ca.pem, CertData: certificate, KeyData: key}}
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

func until(t *testing.T, limit time.Duration, what string, holds func() bool) {
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

func newAuthority(t *testing.T) *authority {
	t.Helper()
	template := template(pkix.Name{CommonName: "test"})
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage |= x509.KeyUsageCertSign
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
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: subject,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
}

func (a *authority) issue(t *testing.T, name, group string) (certificate, key []byte) {
	t.Helper()
	cert := template(pkix.Name{CommonName: name})
	if group != "" {
		cert.Subject.Organization = []string{group}
	}
	cert.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	cert.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, a.certificate, &private.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	bare, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: bare})
}
