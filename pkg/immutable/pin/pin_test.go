package pin

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/pkitest"
)

const serverName = "api-int.example.org"

// scene is a TLS server that the pin guards.
type scene struct {
	*testing.T
	ca      *pkitest.Authority
	node    *pkitest.Node
	pin     *Pin
	address string
	// later is added to the clock (ns).
	later atomic.Int64
}

func stage(t *testing.T) *scene {
	t.Helper()
	ca := pkitest.New(t)
	return &scene{T: t, ca: ca, node: ca.NewNode("https://"+serverName, "")}
}

func (s *scene) now() time.Time { return time.Now().Add(time.Duration(s.later.Load())) }

func (s *scene) serve() {
	s.Helper()
	s.pin = New(Options{Directory: s.node.PKI, Kubeconfig: s.node.Kubeconfig, Previous: 10 * time.Minute, Now: s.now, Log: slog.New(slog.DiscardHandler)})
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{s.ca.Server(serverName).Certificate},
		ClientAuth: tls.RequestClientCert, VerifyConnection: s.pin.Verify})
	if err != nil {
		s.Fatal(err)
	}
	s.address = l.Addr().String()
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				_, _ = io.WriteString(c, "served")
			})
		}
	})
	s.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
}

// client is a client with a session cache of its own.
func (s *scene) client(with ...pkitest.Pair) *tls.Config {
	c := &tls.Config{RootCAs: s.ca.Pool(), ServerName: serverName, ClientSessionCache: tls.NewLRUClientSessionCache(1)}
	for _, p := range with {
		c.Certificates = append(c.Certificates, p.Certificate)
	}
	return c
}

// served tells whether the client was, and in a resumed session.
func (s *scene) served(c *tls.Config) (served, resumed bool) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 10*time.Second)
	defer cancel()
	conn, err := (&tls.Dialer{Config: c}).DialContext(ctx, "tcp", s.address)
	if err != nil {
		return false, false
	}
	defer conn.Close()
	text, err := io.ReadAll(conn)
	return err == nil && string(text) == "served", conn.(*tls.Conn).ConnectionState().DidResume
}

func (s *scene) wants(c *tls.Config, want bool, why string) {
	s.Helper()
	if served, _ := s.served(c); served != want {
		s.Errorf("%s: served: %v", why, served)
	}
}

func TestOnlyTheKubeletsOwnCertificateIsServed(t *testing.T) {
	s := stage(t)
	kubelet := s.ca.Kubelet("n1")
	s.node.Rotate(kubelet)
	s.serve()
	s.wants(s.client(kubelet), true, "the kubelet")
	s.wants(s.client(), false, "nobody")
	s.wants(s.client(s.ca.Kubelet("n2")), false, "another node")
	s.wants(s.client(s.ca.Kubelet("n1")), false, "another certificate of this node")
	s.wants(s.client(s.ca.Client("admin", "system:masters", time.Now().Add(time.Hour))), false, "an administrator")
	s.wants(s.client(pkitest.New(t).Kubelet("n1")), false, "another authority's")
	if got := s.pin.Refused(); got != (Refusals{NoCertificate: 1, Stranger: 4}) {
		t.Errorf("%+v", got)
	}
}

func TestAnExpiredCertificateIsRefused(t *testing.T) {
	s := stage(t)
	kubelet := s.ca.Client("system:node:n1", "system:nodes", time.Now().Add(2*time.Minute))
	s.node.Rotate(kubelet)
	s.serve()
	client := s.client(kubelet)
	s.wants(client, true, "before its end")
	s.later.Store(int64(3 * time.Minute))
	s.wants(client, false, "after its end, in a resumed session")
	s.wants(s.client(kubelet), false, "after its end")
	if got := s.pin.Refused(); got != (Refusals{Expired: 2}) {
		t.Errorf("%+v", got)
	}
	if _, err := s.pin.Certificate(); err == nil {
		t.Error("it is still used upstream")
	}
}

func TestWithoutACertificateOfTheKubeletNobodyIsServed(t *testing.T) {
	s := stage(t)
	s.serve()
	kubelet := s.ca.Kubelet("n1")
	s.wants(s.client(kubelet), false, "before the kubelet has one")
	if _, err := s.pin.GetClientCertificate(nil); err == nil {
		t.Error("there is one for use upstream")
	}
	s.node.Rotate(kubelet)
	s.wants(s.client(kubelet), true, "when it has one")
	if got := s.pin.Refused(); got != (Refusals{Unreadable: 1}) {
		t.Errorf("%+v", got)
	}
}

func TestThePreviousCertificateCountsUntilTheNewOneIsUsed(t *testing.T) {
	s := stage(t)
	old, new := s.ca.Kubelet("n1"), s.ca.Kubelet("n1")
	s.node.Rotate(old)
	s.serve()
	client := s.client(old)
	s.wants(client, true, "the old one")
	s.node.Rotate(new)
	if served, resumed := s.served(client); !served || !resumed {
		t.Errorf("the old one before the new one is used: served %v, resumed %v", served, resumed)
	}
	if c, err := s.pin.Certificate(); err != nil || !c.Leaf.Equal(new.Leaf) {
		t.Errorf("upstream: %v", err)
	}
	// The proxy's own connections say nothing about the kubelet.
	if err := s.pin.VerifyOwn(stateOf(new)); err != nil {
		t.Error(err)
	}
	s.wants(s.client(old), true, "the old one after the proxy used the new one")
	s.wants(s.client(new), true, "the new one")
	s.wants(s.client(old), false, "the old one after that")
	s.wants(client, false, "the old one in a resumed session")
	if got := s.pin.Refused(); got != (Refusals{Superseded: 2}) {
		t.Errorf("%+v", got)
	}
}

func TestThePreviousCertificateHasABound(t *testing.T) {
	s := stage(t)
	old := s.ca.Kubelet("n1")
	s.node.Rotate(old)
	s.serve()
	s.node.Rotate(s.ca.Kubelet("n1"))
	s.wants(s.client(old), true, "at once")
	s.later.Store(int64(9 * time.Minute))
	s.wants(s.client(old), true, "before the bound")
	s.later.Store(int64(11 * time.Minute))
	s.wants(s.client(old), false, "after it")
}

func TestAProxyThatStartsAmidARotationKnowsThePrevious(t *testing.T) {
	s := stage(t)
	oldest, old, new := s.ca.Kubelet("n1"), s.ca.Kubelet("n1"), s.ca.Kubelet("n1")
	for _, p := range []pkitest.Pair{oldest, old, new} {
		s.node.Rotate(p)
	}
	s.serve()
	s.wants(s.client(oldest), false, "the one before that")
	s.wants(s.client(old), true, "the previous one")
	s.wants(s.client(new), true, "the new one")
	s.wants(s.client(old), false, "the previous one after the new one")
	// When the rotation was long ago, then there is no previous one.
	s.later.Store(int64(11 * time.Minute))
	s.serve()
	s.wants(s.client(old), false, "a previous one of long ago")
}

func TestACertificateThatTheKubeconfigNamesCounts(t *testing.T) {
	s := stage(t)
	dir := t.TempDir()
	first, second := s.ca.Kubelet("n1"), s.ca.Kubelet("n1")
	put := func(p pkitest.Pair) {
		s.node.Write(filepath.Join(dir, "c.crt"), p.CertificatePEM)
		s.node.Write(filepath.Join(dir, "c.key"), p.KeyPEM)
	}
	put(first)
	s.node.Write(filepath.Join(dir, "ca.crt"), s.ca.PEM)
	config := func(user string) {
		s.node.Write(s.node.Kubeconfig, []byte(`
clusters: [{name: c, cluster: {server: "https://api", certificate-authority: `+dir+`/ca.crt}}]
users: [{name: u, user: {`+user+`}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`))
	}
	config("client-certificate: " + dir + "/c.crt, client-key: " + dir + "/c.key")
	s.serve()
	s.wants(s.client(first), true, "the one that is named")

	// Given a certificate without its key, then nothing has changed yet.
	s.node.Write(filepath.Join(dir, "c.crt"), second.CertificatePEM)
	s.wants(s.client(second), false, "half of a new one")
	put(second)
	s.wants(s.client(first), true, "the previous one")
	s.wants(s.client(second), true, "the new one")

	// Given one in the store too, then both count until the kubeconfig names
	// the store's.
	stored := s.ca.Kubelet("n1")
	s.node.Rotate(stored)
	s.wants(s.client(stored), true, "the store's")
	s.wants(s.client(second), true, "the one that is named, beside the store's")
	current := filepath.Join(s.node.PKI, storeCurrent)
	config("client-certificate: " + current + ", client-key: " + current)
	s.wants(s.client(second), true, "the one that was named, at first")
	s.later.Store(int64(11 * time.Minute))
	s.wants(s.client(second), false, "the one that was named, later")
}

func TestManyHandshakesReadTheFilesOnce(t *testing.T) {
	s := stage(t)
	kubelet := s.ca.Kubelet("n1")
	s.node.Rotate(kubelet)
	s.serve()
	s.later.Store(int64(10 * time.Second)) // the files are settled
	s.wants(s.client(kubelet), true, "the first")
	s.pin.mu.Lock()
	before := s.pin.reads
	s.pin.mu.Unlock()
	var all sync.WaitGroup
	for range 37 {
		all.Go(func() { s.wants(s.client(kubelet), true, "one of many") })
	}
	all.Wait()
	s.pin.mu.Lock()
	defer s.pin.mu.Unlock()
	if s.pin.reads != before {
		t.Errorf("read %d times", s.pin.reads-before)
	}
}

func TestFilesThatGoAwayLeaveTheKubeletServed(t *testing.T) {
	s := stage(t)
	kubelet := s.ca.Kubelet("n1")
	s.node.Rotate(kubelet)
	s.serve()
	fingerprint := s.pin.Fingerprint()
	if err := os.RemoveAll(s.node.PKI); err != nil {
		t.Fatal(err)
	}
	s.wants(s.client(kubelet), true, "the kubelet, whose directory is gone")
	if s.pin.Fingerprint() != fingerprint || fingerprint == [32]byte{} {
		t.Error("another certificate upstream")
	}
}

func stateOf(p pkitest.Pair) tls.ConnectionState {
	return tls.ConnectionState{PeerCertificates: []*x509.Certificate{p.Leaf}}
}
