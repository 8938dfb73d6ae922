package apiserver

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
)

// Server is an etcd and an API server of the test's own, which end with it.
type Server struct {
	// Host is the address, https://127.0.0.1:PORT.
	Host string
	// Config is an admin's (system:masters), without a limit of its rate.
	Config *rest.Config
	// Admin is a client with Config.
	Admin *kubernetes.Clientset

	dir string
	ca  *authority
}

// Start starts both, empty, and waits until the API server is ready. The flags
// are added to the API server's. Without the components the test is skipped.
func Start(t *testing.T, flags ...string) *Server {
	t.Helper()
	etcd, apiServer := component(t, "etcd", "etcd"), component(t, "kubernetes", "kube-apiserver")
	s := &Server{dir: t.TempDir(), ca: newAuthority(t)}
	ports := freePorts(t, 3)
	s.Host = fmt.Sprint("https://127.0.0.1:", ports[2])

	client, peer := fmt.Sprint("http://127.0.0.1:", ports[0]), fmt.Sprint("http://127.0.0.1:", ports[1])
	s.run(t, etcd, "--data-dir="+filepath.Join(s.dir, "etcd"), "--name=e", "--unsafe-no-fsync",
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=e="+peer)

	for _, name := range []string{"apiserver", "accounts"} {
		certificate, key := s.ca.issue(t, name, "")
		s.save(t, name+".crt", certificate)
		s.save(t, name+".key", key)
	}
	in := func(name string) string { return filepath.Join(s.dir, name) }
	s.save(t, "ca.crt", s.ca.pem)
	s.run(t, apiServer, append([]string{"--etcd-servers=" + client,
		"--bind-address=127.0.0.1", fmt.Sprint("--secure-port=", ports[2]), "--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none", "--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction", "--disable-admission-plugins=ServiceAccount",
		"--client-ca-file=" + in("ca.crt"), "--tls-cert-file=" + in("apiserver.crt"), "--tls-private-key-file=" + in("apiserver.key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + in("accounts.key"), "--service-account-signing-key-file=" + in("accounts.key"),
		"--service-cluster-ip-range=203.0.113.0/24"}, flags...)...)

	s.Config = s.As(t, "admin", "system:masters")
	s.Config.QPS = -1
	var err error
	if s.Admin, err = kubernetes.NewForConfig(s.Config); err != nil {
		t.Fatal(err)
	}
	Until(t, time.Minute, "the API server to be ready", func() bool {
		return s.Admin.RESTClient().Get().AbsPath("/readyz").Do(t.Context()).Error() == nil
	})
	return s
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

func (s *Server) run(t *testing.T, program string, arguments ...string) {
	t.Helper()
	var output bytes.Buffer
	cmd := exec.Command(program, arguments...)
	cmd.Dir = s.dir
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

func (s *Server) save(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
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

// Until waits for a condition, and fails the test after the limit.
func Until(t *testing.T, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %v for %s", limit, what)
		}
	}
}
