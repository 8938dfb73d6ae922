package controlplane

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Options of a control plane.
type Options struct {
	// Flags are added to the API server's.
	Flags []string
	// Audit has it write every request to ControlPlane.AuditLog, at level
	// Metadata.
	Audit bool
	// CA and Serving are a test's own authority of clients, in PEM, and the API
	// server's certificate; without them there is a new Authority.
	CA      []byte
	Serving *Pair
}

// ControlPlane is an etcd and an API server of the test's own, which end with it.
type ControlPlane struct {
	// Host is the API server's 127.0.0.1:PORT.
	Host string
	// CA signs clients; nil if Options brought another.
	CA *Authority
	// AuditLog is the path of a file; empty without Options.Audit.
	AuditLog string

	dir       string
	program   string
	arguments []string
	end       func()
}

// Start starts both, empty, and waits until the API server is ready. Without the
// components the test is skipped.
func Start(t testing.TB, o Options) *ControlPlane {
	t.Helper()
	etcd, apiServer := component(t, "etcd", "etcd"), component(t, "kubernetes", "kube-apiserver")
	c := &ControlPlane{dir: t.TempDir(), program: apiServer}
	ports := FreePorts(t, 3)
	client, peer := fmt.Sprint("http://127.0.0.1:", ports[0]), fmt.Sprint("http://127.0.0.1:", ports[1])
	c.Host = fmt.Sprint("127.0.0.1:", ports[2])
	c.run(t, etcd, "--data-dir="+c.path("etcd"), "--name=e", "--unsafe-no-fsync",
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=e="+peer)

	own := NewAuthority(t)
	serving, accounts, ca := own.Issue(t, "apiserver", ""), own.Issue(t, "accounts", ""), o.CA
	if o.Serving != nil {
		serving = *o.Serving
	} else {
		c.CA, ca = own, own.PEM
	}
	for name, data := range map[string][]byte{
		"ca.crt": ca, "apiserver.crt": serving.Certificate, "apiserver.key": serving.Key,
		"accounts.crt": accounts.Certificate, "accounts.key": accounts.Key,
		"audit.yaml": []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Metadata\n"),
	} {
		if err := os.WriteFile(c.path(name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c.arguments = []string{"--etcd-servers=" + client,
		"--bind-address=127.0.0.1", fmt.Sprint("--secure-port=", ports[2]), "--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none", "--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction", "--disable-admission-plugins=ServiceAccount",
		"--client-ca-file=" + c.path("ca.crt"), "--tls-cert-file=" + c.path("apiserver.crt"), "--tls-private-key-file=" + c.path("apiserver.key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.path("accounts.key"), "--service-account-signing-key-file=" + c.path("accounts.key"),
		"--service-cluster-ip-range=203.0.113.0/24"}
	if o.Audit {
		c.AuditLog = c.path("audit.log")
		c.arguments = append(c.arguments, "--audit-policy-file="+c.path("audit.yaml"), "--audit-log-path="+c.AuditLog)
	}
	c.arguments = append(c.arguments, o.Flags...)
	c.up(t)
	return c
}

// Again ends the API server and starts it anew; etcd goes on.
func (c *ControlPlane) Again(t testing.TB) {
	t.Helper()
	c.end()
	c.up(t)
}

func (c *ControlPlane) up(t testing.TB) {
	t.Helper()
	c.end = c.run(t, c.program, c.arguments...)
	// Anybody may ask whether it is ready, and nobody else listens there.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 5 * time.Second}
	Until(t, time.Minute, "the API server to be ready", func() bool {
		answer, err := client.Get("https://" + c.Host + "/readyz")
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
}

// run starts a program and returns what ends it; the test's end does too.
func (c *ControlPlane) run(t testing.TB, program string, arguments ...string) (end func()) {
	t.Helper()
	cmd := exec.Command(program, arguments...)
	cmd.Dir = c.dir
	return Run(t, cmd)
}

// Run starts a program and returns what ends it. The test's end does too, and a
// test that failed prints what the program said last.
func Run(t testing.TB, cmd *exec.Cmd) (end func()) {
	t.Helper()
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
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
			t.Logf("%s said last:\n%s", filepath.Base(cmd.Path), said.Bytes()[max(0, said.Len()-3000):])
		}
	})
	return end
}

func (c *ControlPlane) path(name string) string { return filepath.Join(c.dir, name) }

// FreePorts are n ports of loopback that nobody listens on now.
func FreePorts(t testing.TB, n int) []int {
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
